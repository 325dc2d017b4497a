#!/usr/bin/env python3
"""Programs of nccl-tests run on Gyre: one rank, ranks as threads and in groups on one GPU, ranks of MPI on one GPU.

Usage: nccl_tests.py --lib DIR --bin DIR [--mps] [--modes one,t2,g4,mpi2] [--variants plain,graph] [--only PATTERN]

DIR of --bin is what build_nccl_tests.py made: plain/*_perf, mpi/*_perf, many_devices.so.
"""

import argparse
import fnmatch
import glob
import os
import shutil
import time

import harness
from harness import client_environment, run_one, status_text

SIZES = ["-b", "8", "-e", "32M", "-f", "8", "-c", "1", "-n", "5", "-w", "1"]
FEW = ["-b", "8", "-e", "64K", "-f", "64", "-c", "1", "-n", "1", "-w", "1"]
VARIANTS = {
    "plain": SIZES,
    "graph": [*SIZES, "-G", "2"],
    "everything": [*FEW, "-o", "all", "-d", "all"],  # operations and types
    "roots": [*FEW, "-r", "-1"],
    "grouped": [*FEW, "-m", "4"],  # calls in one group
    "registered": [*SIZES, "-R", "1"],
    "windows": [*SIZES, "-R", "2"],
    "waited": [*FEW, "-z", "1"],  # nothing overlaps
    "parallel": [*FEW, "-p", "1"],  # each thread makes its communicator
    "null_stream": [*FEW, "-y", "1"],
}
# One rank; N threads; N ranks of one thread, in groups; N processes of MPI. `2t2` is two threads with two ranks each.
MODES = {
    "one": ("plain", 1, ["-g", "1"]),
    "t2": ("plain", 2, ["-t", "2", "-g", "1"]),
    "t4": ("plain", 4, ["-t", "4", "-g", "1"]),
    "g2": ("plain", 2, ["-g", "2"]),
    "g4": ("plain", 4, ["-g", "4"]),
    "2t2": ("plain", 4, ["-t", "2", "-g", "2"]),
    "mpi2": ("mpi", 2, ["-g", "1"]),
    "mpi4": ("mpi", 4, ["-g", "1"]),
}


def wrong_with(output, ranks):
    """Why the table is not that of a good run, or nothing."""
    lines = output.splitlines()
    devices = [line for line in lines if line.startswith("#  Rank ")]
    if len(devices) != ranks:
        return f"{len(devices)} ranks, not {ranks}"
    rows = [line.split() for line in lines if line[:1] == " " and line.split()[0].isdigit()]
    if not rows:
        return "no rows"
    for row in rows:
        # size count type, redop or nothing, root, and twice: time algbw busbw #wrong. In place some check nothing.
        if len(row) < 12 or row[-5] != "0" or row[-1] not in ("0", "N/A"):
            return f"row {' '.join(row)}"
    if not any(line.split() == "# Out of bounds values : 0 OK".split() for line in lines):
        return "the line about values out of bounds is not there, or bad"
    return ""


class Test:
    def __init__(self, options, report, logs):
        self.options, self.report, self.logs = options, report, logs
        self.library = harness.library_of(options.lib)
        self.obstacles = {}
        self.shim = os.path.join(os.path.realpath(options.bin), "many_devices.so")

    def environment(self, kind, ranks):
        preload = []
        # The programs have no RPATH of their own: the search path is enough.
        extra = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader"}
        if kind == "plain" and ranks > 1:
            preload.append(self.shim)
            extra["MANY_DEVICES"] = str(ranks)
            # A kernel that is loaded at its first call waits for those that run, which may wait for it.
            extra["CUDA_MODULE_LOADING"] = "EAGER"
            # As README says for programs that start CUDA themselves: under MPS they have two queues.
            extra.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "8")
        if kind == "mpi":
            extra["NCCL_TESTS_DEVICE"] = "0"
        if preload:
            extra["LD_PRELOAD"] = ":".join(preload)
        return client_environment(self.library, False, extra)

    def why_not_at_all(self, kind):
        """Why no program of the kind can run, or nothing; looked at once."""
        if kind not in self.obstacles:
            programs = sorted(glob.glob(os.path.join(os.path.realpath(self.options.bin), kind, "*_perf")))
            if not programs:
                self.obstacles[kind] = f"there are no programs in {self.options.bin}/{kind}"
            elif kind == "mpi" and shutil.which("mpirun") is None:
                self.obstacles[kind] = "mpirun is not installed"
            else:
                nccl, missing = harness.loaded_by(programs[0], self.environment(kind, 1), self.logs)
                self.obstacles[kind] = f"the loader finds no {', '.join(missing)}" if missing else ""
                if nccl != os.path.realpath(self.library):
                    self.report.failed(f"nccl_tests/library/{kind}", f"libnccl.so.2 is {nccl or 'not found'}")
                    self.obstacles[kind] = "it would use another library"
        return self.obstacles[kind]

    def why_not(self, kind, ranks, variant, program):
        if self.why_not_at_all(kind):
            return self.why_not_at_all(kind)
        if variant == "null_stream" and kind == "plain" and ranks > 1:
            return "ranks that share a device and a stream wait for each other"
        if not os.path.exists(program):
            return f"{program} was not built"
        if kind == "plain" and ranks > 1 and not os.path.exists(self.shim):
            return f"{self.shim} was not built"
        return ""

    def run(self, mode, variant, program_name):
        kind, ranks, arguments = MODES[mode]
        name = f"nccl_tests/{mode}/{variant}/{program_name}"
        if not fnmatch.fnmatch(name, self.options.only):
            return
        program = os.path.join(os.path.realpath(self.options.bin), kind, program_name)
        why = self.why_not(kind, ranks, variant, program)
        if why:
            self.report.skipped(name, why)
            return
        command = [program, *arguments, *VARIANTS[variant]]
        if kind == "mpi":
            command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), *command]
        begun = time.monotonic()
        status, output = run_one(command, self.environment(kind, ranks), self.options.limit, self.logs,
                                 name.replace("/", "."))
        seconds = f"{time.monotonic() - begun:.1f} s"
        why = "it did not end" if status is None else wrong_with(output, ranks)
        if status:
            why = f"{status_text(status)}{why and '; '}{why}"
        if why:
            self.report.failed(name, f"{why} ({seconds})")
            self.report.detail(output[-2000:])
        else:
            self.report.ok(name, seconds)


PROGRAMS = [f"{name}_perf" for name in (
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "alltoallv", "gather", "scatter",
    "sendrecv", "hypercube")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_common_arguments(parser)
    parser.add_argument("--bin", required=True, help="what build_nccl_tests.py made")
    parser.add_argument("--modes", default="one,t2,t4,g2,g4,mpi2,mpi4", help=", ".join(MODES))
    parser.add_argument("--variants", default="plain,graph", help=", ".join(VARIANTS))
    parser.add_argument("--limit", type=float, default=120, help="seconds for a program")
    return parser.parse_args()


def main():
    options = arguments()

    def run(report, logs):
        test = Test(options, report, logs)
        for mode in options.modes.split(","):
            for variant in options.variants.split(","):
                for program in PROGRAMS:
                    test.run(mode, variant, program)

    harness.run_test(options, run)


if __name__ == "__main__":
    main()
