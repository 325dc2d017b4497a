"""What is compared: how each library is started, and the settings it is at its best with."""

import os
from dataclasses import dataclass, field

# A freed buffer stays in the heap: MPI libraries take a fresh one in every large reduction, and its
# page faults would cost them 5 to 10 times the operation.
KEPT_HEAP = {
    "GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184"
    ":glibc.malloc.top_pad=268435456"
}


@dataclass(frozen=True)
class Job:
    """What a launch depends on besides the library."""

    ranks: int
    transport: str  # "shm" or "tcp"
    cores: int

    @property
    def crowded(self):
        return self.ranks > self.cores


@dataclass(frozen=True)
class Series:
    """A library at one setting: the command before the program, the program's own arguments."""

    contender: str
    setting: str
    launch: tuple
    arguments: tuple = ()
    environment: dict = field(default_factory=dict)


def gyre_run(build, job, pinned=True):
    """The launcher of ranks; while there is a core for each it pins them, as the peers' do."""
    binding = ("--bind-to", "core") if pinned and not job.crowded else ()
    return (f"{build}/bin/gyre", "run", "-n", str(job.ranks), *binding)


def gyre_series(build, job):
    """Gyre with memory that it knows nothing of, and with its own."""
    launch = gyre_run(build, job)
    path = {"tcp": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}, "shm": {}}[job.transport]
    yield Series("gyre", "plain", launch, ("--memory_kind", "plain"), path)
    yield Series("gyre-registered", "ncclMemAlloc", launch, ("-R", "1"), path)


def openmpi_launch(mpirun, job, shared_memory):
    yield from (mpirun, "-np", str(job.ranks), "--mca", "pml", "ob1")
    if job.transport == "shm":
        yield from ("--mca", "btl", f"{shared_memory},self")
    else:
        yield from ("--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")
    if job.crowded:
        yield from ("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
    else:
        yield from ("--bind-to", "core")


def openmpi_series(name, mpirun, job, shared_memory):
    environment = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **KEPT_HEAP,
    }
    launch = tuple(openmpi_launch(mpirun, job, shared_memory))
    yield Series(name, "tuned", launch, (), environment)
    dynamic = ("--mca", "coll_tuned_use_dynamic_rules", "1", "--mca")
    for label, number in (("recursive-doubling", "3"), ("ring", "4"), ("rabenseifner", "6")):
        choice = (*dynamic, "coll_tuned_allreduce_algorithm", number)
        yield Series(name, label, launch + choice, (), environment)


# Which of the two an MPICH has over TCP depends on how it was built.
MPICH_TCP = {
    "ucx": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"},
    "ofi": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"},
}


def mpich_series(name, mpirun, job, network):
    launch = (mpirun, "-np", str(job.ranks))
    if not job.crowded:
        launch += ("-bind-to", "core")
    environment = dict(KEPT_HEAP)
    if job.transport == "tcp":
        environment |= {"MPIR_CVAR_NOLOCAL": "1", **MPICH_TCP[network]}
    yield Series(name, "default", launch, (), environment)
    for label in ("recursive_doubling", "ring", "reduce_scatter_allgather"):
        choice = {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": label}
        yield Series(name, label.replace("_", "-"), launch, (), {**environment, **choice})


INTEL_PATHS = {
    "shm": {"I_MPI_FABRICS": "shm"},
    # Or small collectives would still go through shared memory.
    "tcp": {
        "I_MPI_FABRICS": "ofi",
        "I_MPI_COLL_INTRANODE": "pt2pt",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": "lo",
    },
}


def intel_environment(place, job):
    """Of Intel MPI, by itself or under oneCCL."""
    pinning = {"I_MPI_PIN": "0" if job.crowded else "1", "I_MPI_PIN_PROCESSOR_LIST": "allcores"}
    yielding = {"I_MPI_THREAD_YIELD": "3"} if job.crowded else {}
    home = {"I_MPI_ROOT": f"{place}/oneccl", "LD_LIBRARY_PATH": f"{place}/oneccl/lib"}
    return {**KEPT_HEAP, **INTEL_PATHS[job.transport], **pinning, **yielding, **home}


def impi_series(build, place, job):
    launch = (f"{place}/oneccl/bin/mpiexec.hydra", "-n", str(job.ranks))
    yield Series("impi", "default", launch, (), intel_environment(place, job))


def oneccl_series(build, place, job):
    # Without offload the caller's thread does the work: there is no core to spare for another.
    common = {"CCL_WORKER_OFFLOAD": "0", "CCL_LOG_LEVEL": "error"}
    launch = (f"{place}/oneccl/bin/mpiexec.hydra", "-n", str(job.ranks))
    under_mpi = {**intel_environment(place, job), **common, "CCL_ATL_TRANSPORT": "mpi"}
    yield Series("oneccl", "mpi", launch, (), under_mpi)
    if job.transport == "tcp":
        launch = gyre_run(build, job)
        network = {"CCL_PROCESS_LAUNCHER": "torchrun", "CCL_ATL_TRANSPORT": "ofi"}
        yield Series("oneccl", "ofi", launch, (), {**KEPT_HEAP, **common, **network})


def gloo_series(build, place, job):
    """TCP alone. Each rank has a thread for its connections, so ranks are not pinned."""
    if job.transport == "tcp":
        for algorithm in ("ring", "bcube"):
            environment = {**KEPT_HEAP, "PEER_GLOO": algorithm}
            yield Series("gloo", algorithm, gyre_run(build, job, pinned=False), (), environment)


PEERS = {
    "gloo": gloo_series,
    "impi": impi_series,
    "oneccl": oneccl_series,
    "openmpi4": lambda build, place, job: openmpi_series(
        "openmpi4", "mpirun.openmpi", job, "vader"
    ),
    "mpich4": lambda build, place, job: mpich_series("mpich4", "mpirun.mpich", job, "ucx"),
    "openmpi5": lambda build, place, job: openmpi_series(
        "openmpi5", f"{place}/openmpi5/bin/mpirun", job, "sm"
    ),
    "mpich5": lambda build, place, job: mpich_series("mpich5", f"{place}/mpich5/bin/mpirun", job, "ofi"),
}

# Shown beside the others, but not whom Gyre is measured against unless --peers names them.
REFERENCES = ("impi",)


def adapter(place, name):
    return os.path.join(place, "lib", f"libpeer_{name}.so")


def peers_present(place):
    return [name for name in PEERS if os.path.exists(adapter(place, name))]


def peer_series(build, place, name, job, every_setting):
    """The series of one peer; the first alone unless every setting is to be tried."""
    found = list(PEERS[name](build, place, job))
    congestion = os.path.join(place, "lib", "congestion.so")
    for series in found if every_setting else found[:1]:
        environment = dict(series.environment)
        if job.transport == "tcp":
            environment["LD_PRELOAD"] = congestion
        arguments = (*series.arguments, "--lib", adapter(place, name), "--memory_kind", "plain")
        yield Series(name, series.setting, series.launch, arguments, environment)
