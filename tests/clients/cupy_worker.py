"""The ranks of cupy_test.py: one process with several of them, or one of several processes.

Kinds: `processes`, one rank each; `threads`, a thread for each rank; `group`, one thread whose calls for all ranks lie
in one group; `all`, communicators of initAll.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import cupy
from cupy.cuda import nccl

import cupy_cases
from worker import run_ranks, worker_arguments


class Member:
    """A rank that this process has."""

    def __init__(self, rank, comm):
        self.rank, self.comm = rank, comm
        self.stream = cupy.cuda.Stream(non_blocking=True)


class Ranks:
    """All ranks, of which this process has some."""

    def __init__(self, options):
        self.kind, self.size, self.folder, self.rank = options.kind, options.size, options.folder, options.rank
        self.problems = []
        self.note = ""
        self.members = []
        self.threads = ThreadPoolExecutor(self.size)

    def start(self):
        self.note = f"version {nccl.get_version()}"
        cupy.cuda.Device(0).use()
        if self.kind == "all":
            comms = nccl.NcclCommunicator.initAll([0] * self.size)
            self.members = [Member(rank, comm) for rank, comm in enumerate(comms)]
        else:
            mine = [self.rank] if self.kind == "processes" else range(self.size)
            identity = self.identity()
            made = self.each(lambda rank: Member(rank, nccl.NcclCommunicator(self.size, identity, rank)), mine)
            self.members = sorted(made, key=lambda member: member.rank)

    def end(self):
        self.each(lambda member: member.comm.destroy())

    @staticmethod
    def synchronize():
        cupy.cuda.Stream.null.synchronize()

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


def main():
    parser = worker_arguments()
    parser.add_argument("--kind", required=True)
    options = parser.parse_args()
    run_ranks(options, Ranks(options), cupy_cases.CASES)


if __name__ == "__main__":
    main()
