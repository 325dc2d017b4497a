#!/usr/bin/env python3
"""Real launchers start the ranks of all_reduce_perf: Open MPI, MPICH and Slurm, each if it is installed.

Usage: launchers_test.py BUILD_DIR
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else "build"
PROGRAM = [os.path.join(BUILD, "bin", "all_reduce_perf"), "-b", "1K", "-e", "64K", "-f", "8", "-n", "2"]


def need(*programs):
    """The first program of the list that there is, or a skip that says which were looked for."""
    for program in programs:
        found = shutil.which(program)
        if found:
            return found
    raise unittest.SkipTest(f"{' or '.join(programs)} is not installed")


def run(command, **environment):
    done = subprocess.run(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=90, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Launchers(unittest.TestCase):

    def check(self, output, ranks):
        """One job of `ranks` ranks, and not `ranks` jobs of one."""
        devices = [line for line in output.splitlines() if line.startswith("#  Rank ")]
        self.assertEqual(len(devices), ranks, output)
        rows = [line.split() for line in output.splitlines() if line[:1] == " " and line.split()[0].isdigit()]
        self.assertEqual([row[0] for row in rows], ["1024", "8192", "65536"], output)
        self.assertTrue(all(row[8] == "0" and row[12] == "0" for row in rows), output)

    def test_open_mpi(self):
        mpirun = need("mpirun.openmpi")
        self.check(run([mpirun, "--oversubscribe", "-np", "3", *PROGRAM], OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"), 3)

    def test_mpich(self):
        self.check(run([need("mpirun.mpich"), "-np", "3", *PROGRAM]), 3)

    def test_slurm(self):
        srun, slurmctld, slurmd, munged = (need(name) for name in ("srun", "slurmctld", "slurmd", "munged"))
        if os.geteuid() != 0:
            raise unittest.SkipTest("a private Slurm needs root")
        with tempfile.TemporaryDirectory() as folder, PrivateSlurm(folder, slurmctld, slurmd, munged) as conf:
            # The two nodes are this machine under made-up names, which nothing resolves.
            self.check(run([srun, "-N", "2", "-n", "4", "--overcommit", *PROGRAM], SLURM_CONF=conf,
                           MASTER_ADDR="127.0.0.1"), 4)


class PrivateSlurm:
    """A controller and two nodes on this machine, with their own key, ports and folders."""

    def __init__(self, folder, slurmctld, slurmd, munged):
        self.folder, self.programs, self.processes = folder, (slurmctld, slurmd, munged), []

    def start(self, command, **environment):
        with open(os.path.join(self.folder, os.path.basename(command[0]) + ".out"), "ab") as log:
            self.processes.append(subprocess.Popen(command, env={**os.environ, **environment}, stdout=log,
                                                   stderr=log, stdin=subprocess.DEVNULL))

    def wait(self, what, ready):
        for _ in range(200):
            if ready():
                return
            time.sleep(0.1)  # polls a daemon that has no other way to say that it is up
        logs = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".out", ".log")):
                with open(os.path.join(self.folder, name), errors="replace") as file:
                    logs += file.read()[-2000:]
        raise AssertionError(f"{what} did not come up in 20 s\n{logs}")

    def __enter__(self):
        slurmctld, slurmd, munged = self.programs
        os.chmod(self.folder, 0o755)
        key, munge_socket = os.path.join(self.folder, "munge.key"), os.path.join(self.folder, "munge.socket")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        ports = [free_port() for _ in range(3)]
        conf = os.path.join(self.folder, "slurm.conf")
        host = socket.gethostname().split(".")[0]
        with open(conf, "w") as file:
            file.write(f"""ClusterName=gyre
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge_socket}
SlurmctldPort={ports[0]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
ReturnToService=2
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool-%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd-%n.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd-%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES State=UP OverSubscribe=FORCE:4
""")
        try:
            self.start([munged, "--foreground", "--force", f"--socket={munge_socket}", f"--key-file={key}",
                        f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
                        f"--seed-file={self.folder}/munged.seed"])
            self.wait("munged", lambda: os.path.exists(munge_socket))
            self.start([slurmctld, "-D", "-f", conf], SLURM_CONF=conf)
            for node in ("n1", "n2"):
                self.start([slurmd, "-D", "-N", node, "-f", conf], SLURM_CONF=conf)
            self.wait("slurm", lambda: idle_nodes(conf) == 2)
        except BaseException:
            self.__exit__()
            raise
        return conf

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def idle_nodes(conf):
    done = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], env={**os.environ, "SLURM_CONF": conf},
                          capture_output=True, text=True, timeout=20, check=False)
    return done.stdout.split().count("idle")


class Torchrun(unittest.TestCase):
    """What it sets, with its store on the port that it names: it keeps that for as long as the job runs."""

    def ranks(self, program, world):
        with socket.create_server(("127.0.0.1", 0)) as store:
            environment = {
                **os.environ, "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(store.getsockname()[1]), "TORCHELASTIC_RUN_ID": f"test {os.getpid()}",
                "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_USE_AGENT_STORE": "True",
            }
            started = [
                subprocess.Popen(program, env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
                for rank in range(world)
            ]
            said = []
            try:
                for process in started:
                    said.append(process.communicate(timeout=60)[0])
            finally:
                for process in started:
                    process.kill()
            self.assertEqual([process.returncode for process in started], [0] * world, "\n".join(said))
            return "\n".join(said)

    def test_examples(self):
        program = os.path.join(BUILD, "bin", "examples", "sync_gradients")
        self.assertEqual(self.ranks([need(program)], 3).count("gradients averaged"), 3)

    def test_benches(self):
        self.assertIn("#  Rank  2", self.ranks(PROGRAM, 3))


if __name__ == "__main__":
    unittest.main()
