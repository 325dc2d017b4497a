#!/usr/bin/env python3
"""CuPy's nccl module runs on Gyre: several ranks on one GPU, as threads, in groups and as processes.

Usage: cupy_test.py --lib DIR [--mps] [--kinds all1,threads2,group2,processes2,...] [--only PATTERN]

Kinds are those of cupy_worker.py, each with its number of ranks; `cupyx` is cupyx.distributed with two processes.
"""

import argparse
import fnmatch
import os
import sys

import harness
from harness import World, client_environment
from suites import run_suite

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = "all1,all2,threads2,threads4,group2,group4,processes2,processes4,cupyx2"
# The worker has them; they are named here because the parent need not have CuPy.
CASES = ("facts all_reduce all_reduce_in_place all_reduce_average reduce broadcast reduce_scatter all_gather "
         "send_recv split managed_memory errors").split()
CUPYX_CASES = ("all_reduce reduce broadcast reduce_scatter all_gather send_recv scatter gather all_to_all "
               "barrier").split()


class Test:
    def __init__(self, options, report, logs):
        self.options, self.report, self.logs = options, report, logs
        self.library = harness.library_of(options.lib)
        # The linked module finds what is loaded already by that name, and the preloaded library is.
        self.environment = client_environment(self.library, True)
        self.worlds = 0

    def begin(self, kind, size, cases, folder):
        self.worlds += 1
        worker = "cupyx_worker.py" if kind == "cupyx" else "cupy_worker.py"
        processes = size if kind in ("processes", "cupyx") else 1
        command = [sys.executable, os.path.join(HERE, worker), "--size", str(size), "--cases", ",".join(cases),
                   "--folder", folder, "--library", self.library]
        command += ["--port", str(harness.free_port())] if kind == "cupyx" else ["--kind", kind]
        commands = [[*command, "--rank", str(rank)] for rank in range(processes)]
        return World(commands, [self.environment] * processes, self.logs, f"cupy.{kind}{size}.{self.worlds}")

    def run_kind(self, kind, size):
        prefix = f"cupy/{kind}/{size}"
        cases = CUPYX_CASES if kind == "cupyx" else CASES
        chosen = [case for case in cases if fnmatch.fnmatch(f"{prefix}/{case}", self.options.only)]
        processes = size if kind in ("processes", "cupyx") else 1
        run_suite(self.report, prefix, chosen, processes,
                  lambda left, folder: self.begin(kind, size, left, folder), self.options.limit)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_common_arguments(parser)
    parser.add_argument("--kinds", default=KINDS, help=KINDS)
    parser.add_argument("--limit", type=float, default=120, help="seconds for a case")
    return parser.parse_args()


def main():
    options = arguments()

    def run(report, logs):
        test = Test(options, report, logs)
        for kind in options.kinds.split(","):
            test.run_kind(kind.rstrip("0123456789"), int(kind.lstrip("abcdefghijklmnopqrstuvwxyz")))

    harness.run_test(options, run)


if __name__ == "__main__":
    main()
