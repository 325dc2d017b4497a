"""The ranks of cupy_test.py: one process with several of them, or one of several processes.

Kinds: `processes`, one rank each; `threads`, a thread for each rank; `group`, one thread whose calls for all ranks lie
in one group; `all`, communicators of initAll.
"""

import argparse
import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import cupy
from cupy.cuda import nccl

import cupy_cases
from suites import Reporter

BROKEN = 3


class Member:
    """A rank that this process has."""

    def __init__(self, rank, comm):
        self.rank, self.comm = rank, comm
        self.stream = cupy.cuda.Stream(non_blocking=True)


class Ranks:
    """All ranks, of which this process has some."""

    def __init__(self, options):
        self.kind, self.size, self.folder, self.library = options.kind, options.size, options.folder, options.library
        self.rank = options.rank
        self.problems = []
        self.note = ""
        self.members = []
        mine = [options.rank] if self.kind == "processes" else range(self.size)
        self.threads = ThreadPoolExecutor(len(mine))
        cupy.cuda.Device(0).use()
        if self.kind == "all":
            comms = nccl.NcclCommunicator.initAll([0] * self.size)
            self.members = [Member(rank, comm) for rank, comm in enumerate(comms)]
        else:
            identity = self.identity()
            made = self.each(lambda rank: Member(rank, nccl.NcclCommunicator(self.size, identity, rank)), mine)
            self.members = sorted(made, key=lambda member: member.rank)

    def identity(self):
        """The id of the communicator, which rank 0 makes and the others read: bytes, or a tuple before CuPy 14."""
        path = f"{self.folder}/id"
        if self.rank == 0:
            identity = nccl.get_unique_id()
            with open(f"{path}.new", "w", encoding="ascii") as file:
                file.write(" ".join([type(identity).__name__, *map(str, identity)]))
            os.rename(f"{path}.new", path)
        while not os.path.exists(path):
            time.sleep(0.01)  # the parent's time limit bounds this
        with open(path, encoding="ascii") as file:
            kind, *values = file.read().split()
        return {"bytes": bytes, "tuple": tuple}[kind](map(int, values))

    def each(self, function, of=None):
        """Calls the function for each rank of this process, as the kind wants it; gives the results."""
        of = self.members if of is None else of
        if self.kind == "threads":
            return list(self.threads.map(self.on_device(function), of))
        grouped = len(of) > 1
        if grouped:
            nccl.groupStart()
        try:
            return [function(one) for one in of]
        finally:
            if grouped:
                nccl.groupEnd()

    @staticmethod
    def on_device(function):
        def call(one):
            # The current device belongs to the thread.
            cupy.cuda.Device(0).use()
            return function(one)

        return call

    def run(self, call):
        """`call(member, pointer of its stream)` on every rank, from inputs that are ready to results that are."""
        cupy.cuda.Stream.null.synchronize()
        self.each(lambda member: call(member, member.stream.ptr))
        for member in self.members:
            member.stream.synchronize()

    def equal(self, name, got, expected):
        if got.shape != expected.shape or got.dtype != expected.dtype:
            self.problems.append(f"{name}: {got.dtype}{got.shape}, not {expected.dtype}{expected.shape}")
        elif not bool((got == expected).all()):
            wrong = cupy.flatnonzero(got != expected)
            first = int(wrong[0])
            self.problems.append(f"{name}: {len(wrong)} of {got.size} elements differ, first [{first}]: "
                                 f"{got[first].item()}, not {expected[first].item()}")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--library", required=True)
    return parser.parse_args()


def run_case(ranks, name):
    """How the case went: (word, text)."""
    ranks.problems, ranks.note = [], ""
    try:
        cupy_cases.CASES[name](ranks)
    except cupy_cases.CaseSkipped as why:
        return "skipped", why
    except Exception:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
        return "broken", traceback.format_exc().strip().splitlines()[-1]
    for problem in ranks.problems:
        print(f"{name}: {problem}", flush=True)
    return ("wrong", ranks.problems[0]) if ranks.problems else ("ok", ranks.note)


def main():
    options = arguments()
    reporter = Reporter(f"{options.folder}/report{options.rank}")
    reporter.say("begin", "start")
    begun = time.monotonic()
    ranks = Ranks(options)
    reporter.say("ok", "start", f"{time.monotonic() - begun:.2f} s")
    for name in options.cases.split(","):
        reporter.say("begin", name)
        begun = time.monotonic()
        word, text = run_case(ranks, name)
        seconds = f"{time.monotonic() - begun:.2f} s"
        reporter.say(word, name, f"{seconds}, {text}" if word == "ok" and text else text or seconds)
        if word == "broken":
            sys.stdout.flush()
            # Without destructors: they could wait for the other ranks.
            os._exit(BROKEN)
    reporter.say("begin", "end")
    begun = time.monotonic()
    ranks.each(lambda member: member.comm.destroy())
    reporter.say("ok", "end", f"{time.monotonic() - begun:.2f} s")


if __name__ == "__main__":
    main()
