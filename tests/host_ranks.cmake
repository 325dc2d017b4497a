# Ranks are on the host unless a test's ENVIRONMENT says otherwise, so that tests of host ranks test
# those on a machine with a GPU too. Here, where no test can forget it.
set(ENV{GYRE_DEVICE} host)
