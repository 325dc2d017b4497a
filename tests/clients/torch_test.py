#!/usr/bin/env python3
"""PyTorch with backend="nccl" runs on Gyre: several processes on one GPU, or a GPU each.

Usage: torch_test.py --lib DIR [--mps] [--worlds 2,4] [--gpus N [--isolated]] [--suites collectives,...] [--only PATTERN]

Each world runs its cases one after another. A case without news for --limit seconds, or one that breaks its world,
has failed; the cases behind it get a fresh world. --rehearse runs the cases on the host with gloo instead, without
Gyre and without a GPU: it tests the tests.
"""

import argparse
import fnmatch
import os
import sys
import tempfile
import time

import harness
from harness import World, client_environment, status_text
from suites import START_LIMIT, run_suite
from worker import BROKEN

try:
    import torch_faults  # the words that ranks print
    from torch_worker import SUITES
except ImportError as missing:
    print(f"skipped torch: {missing}\n0 passed, 0 failed, 1 skipped")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))


class Test:
    def __init__(self, options, report, logs):
        self.options, self.report, self.logs = options, report, logs
        self.library = "" if options.rehearse else harness.library_of(options.lib)
        self.worlds = 0

    def begin(self, suite, size, cases, folder, timeout=600, extra=None):
        """A world of ranks that run the cases."""
        self.worlds += 1
        variables = {"TORCH_NCCL_DUMP_ON_TIMEOUT": "0", "CUBLAS_WORKSPACE_CONFIG": ":4096:8", **(extra or {})}
        if self.options.rehearse:
            environment = {**os.environ, **variables}
        else:
            environment = client_environment(self.library, True, variables)
        command = [sys.executable, os.path.join(HERE, "torch_worker.py"), "--suite", suite, "--cases", ",".join(cases),
                   "--size", str(size), "--init", f"tcp://127.0.0.1:{harness.free_port()}", "--folder", folder,
                   "--library", self.library, "--timeout", str(timeout)]
        command += ["--rehearse"] if self.options.rehearse else []
        gpus = self.options.gpus
        environments = [environment] * size
        if self.options.isolated:
            environments = [{**environment, "CUDA_VISIBLE_DEVICES": str(rank % gpus)} for rank in range(size)]
            gpus = 1
        commands = [[*command, "--rank", str(rank), "--gpus", str(gpus)] for rank in range(size)]
        return World(commands, environments, self.logs, f"{suite}{size}.{self.worlds}")

    def chosen(self, suite, size, cases):
        return [case for case in cases if fnmatch.fnmatch(f"torch/{suite}/{size}/{case}", self.options.only)]

    def run_suite(self, suite, size, variant="", extra=None, cases=None):
        chosen = self.chosen(suite + variant, size, cases or SUITES[suite])
        run_suite(self.report, f"torch/{suite}{variant}/{size}", chosen, size,
                  lambda left, folder: self.begin(suite, size, left, folder, extra=extra), self.options.limit)

    def run_named(self, suite, size):
        if suite == "faults":
            self.faults(size)
        elif suite == "nonblocking":
            # Communicators whose calls return before they are done, as PyTorch offers them.
            cases = ["all_reduce_types", "all_gather", "reduce_scatter", "all_to_all_uneven"]
            self.run_suite("collectives", size, "-nonblocking", {"TORCH_NCCL_USE_COMM_NONBLOCKING": "1"}, cases)
        else:
            self.run_suite(suite, size)

    # Ranks that go missing.

    def fault(self, size, case, timeout, bound, extra, expect):
        """The ranks before the last must end within `bound` seconds, as `expect` wants of (statuses, outputs)."""
        name = f"torch/faults/{size}/{case}"
        if not self.chosen("faults", size, [case]):
            return
        if self.options.rehearse:
            self.report.skipped(name, "a rehearsal has no watchdog")
            return
        with tempfile.TemporaryDirectory() as folder:
            with self.begin("faults", size, [case], folder, timeout, extra) as world:
                begun = self.when_begun(world, folder, case, size)
                if begun is None:
                    self.report.failed(name, "the world did not start")
                    self.report.detail(world.outputs())
                    return
                while time.monotonic() < begun + bound and any(rank < size - 1 for rank in world.running()):
                    time.sleep(harness.POLL)
                seconds = time.monotonic() - begun
                statuses = world.statuses()[:-1]
                world.end()
                outputs = [harness.tail(log, 10**6) for log in world.logs[:-1]]
                why = "a rank did not end" if None in statuses else expect(statuses, outputs)
                if why:
                    self.report.failed(name, f"{why}; after {seconds:.1f} s: {', '.join(map(status_text, statuses))}")
                    self.report.detail(world.outputs())
                else:
                    self.report.ok(name, f"{seconds:.2f} s, {', '.join(map(status_text, statuses))}")

    @staticmethod
    def when_begun(world, folder, case, size):
        """The time at which all ranks had begun the case."""
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline and len(world.running()) == size:
            if all(f"begin\t{case}" in harness.tail(f"{folder}/report{rank}") for rank in range(size)):
                return time.monotonic()
            time.sleep(harness.POLL)
        # A rank may have gone already: that is what these cases are about.
        begun = all(f"begin\t{case}" in harness.tail(f"{folder}/report{rank}") for rank in range(size))
        return time.monotonic() if begun else None

    def faults(self, size):
        # 1: abort the communicator, then end the process.
        handled = {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1", "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1000"}
        self.fault(size, "silent_rank", 20, 120, handled, told_by_watchdog)
        self.fault(size, "silent_rank_blocking", 20, 120, {"TORCH_NCCL_BLOCKING_WAIT": "1"}, caught_in_python)
        self.fault(size, "abort", 600, 60, {}, caught_in_python)
        self.fault(size, "lost_rank", 600, 90, handled, told_somehow)


def told_by_watchdog(statuses, outputs):
    if any(status in (0, BROKEN) for status in statuses):
        return "a rank ended as if nothing were wrong"
    return "" if all("atchdog" in text for text in outputs) else "the watchdog said nothing"


def caught_in_python(statuses, outputs):
    if any(statuses):
        return "a rank did not catch the error"
    return "" if all(torch_faults.CAUGHT in text for text in outputs) else "a rank caught nothing"


def told_somehow(statuses, _):
    return "a rank ended as if nothing were wrong" if {0, BROKEN} & set(statuses) else ""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_common_arguments(parser)
    parser.add_argument("--worlds", default="2,4", help="how many ranks, several numbers")
    parser.add_argument("--gpus", type=int, default=1, help="how many GPUs the ranks take in turn")
    parser.add_argument("--isolated", action="store_true", help="each rank sees its GPU alone")
    parser.add_argument("--suites", default="collectives,groups,streams,training,nonblocking,faults")
    parser.add_argument("--limit", type=float, default=120, help="seconds for a case")
    parser.add_argument("--rehearse", action="store_true", help="on the host with gloo, without Gyre")
    return parser.parse_args()


def main():
    options = arguments()

    def run(report, logs):
        test = Test(options, report, logs)
        for size in map(int, options.worlds.split(",")):
            for suite in options.suites.split(","):
                test.run_named(suite, size)

    harness.run_test(options, run, options.mps and not options.rehearse)


if __name__ == "__main__":
    main()
