"""One rank of cupy_test.py that goes through cupyx.distributed, which calls on CuPy's current stream."""

import cupy
import cupyx.distributed

from cupy_cases import pattern
from worker import run_ranks, worker_arguments

COUNT = 1023


class Rank:
    def __init__(self, options):
        self.rank, self.size, self.port = options.rank, options.size, options.port
        self.problems = []
        self.note = ""
        self.comm = None

    def start(self):
        cupy.cuda.Device(0).use()
        self.comm = cupyx.distributed.init_process_group(self.size, self.rank, host="127.0.0.1", port=self.port)

    def end(self):
        self.comm.stop()

    @staticmethod
    def synchronize():
        cupy.cuda.Stream.null.synchronize()

    def mine(self, count=COUNT):
        return pattern(count, "float32", self.rank)

    def of_all(self, count=COUNT):
        """A row for each rank."""
        return cupy.stack([pattern(count, "float32", rank) for rank in range(self.size)])

    def equal(self, name, got, expected):
        if not bool((got == expected).all()):
            self.problems.append(f"{name}: {got.ravel()[:4]}..., not {expected.ravel()[:4]}...")


def all_reduce(rank):
    for op in ("sum", "prod", "max", "min"):
        got = cupy.zeros(COUNT, "float32")
        rank.comm.all_reduce(rank.mine(), got, op)
        rank.equal(op, got, getattr(rank.of_all(), op)(axis=0))
    # Two numbers each.
    got = cupy.zeros(COUNT, "complex64")
    rank.comm.all_reduce(rank.mine() * (1 + 2j), got)
    rank.equal("complex", got, rank.of_all().sum(axis=0) * (1 + 2j))


def reduce(rank):
    for root in range(rank.size):
        got = cupy.zeros(COUNT, "float32")
        rank.comm.reduce(rank.mine(), got, root)
        if rank.rank == root:
            rank.equal(f"to {root}", got, rank.of_all().sum(axis=0))


def broadcast(rank):
    for root in range(rank.size):
        got = rank.mine()
        rank.comm.broadcast(got, root)
        rank.equal(f"from {root}", got, pattern(COUNT, "float32", root))


def reduce_scatter(rank):
    got = cupy.zeros(COUNT, "float32")
    rank.comm.reduce_scatter(rank.mine(COUNT * rank.size), got, COUNT)
    total = rank.of_all(COUNT * rank.size).sum(axis=0)
    rank.equal("sum", got, total[rank.rank * COUNT : (rank.rank + 1) * COUNT])


def all_gather(rank):
    got = cupy.zeros(COUNT * rank.size, "float32")
    rank.comm.all_gather(rank.mine(), got, COUNT)
    rank.equal("all", got, rank.of_all().ravel())


def send_recv(rank):
    partner = rank.rank ^ 1
    got = cupy.zeros(COUNT, "float32")
    rank.comm.send_recv(rank.mine(), got, partner)
    rank.equal("at once", got, pattern(COUNT, "float32", partner))
    got = cupy.zeros(COUNT, "float32")
    if rank.rank < partner:
        rank.comm.send(rank.mine(), partner)
        rank.comm.recv(got, partner)
    else:
        rank.comm.recv(got, partner)
        rank.comm.send(rank.mine(), partner)
    rank.equal("in turn", got, pattern(COUNT, "float32", partner))


def scatter(rank):
    for root in range(rank.size):
        got = cupy.zeros(COUNT, "float32")
        rank.comm.scatter(rank.of_all(), got, root)
        rank.equal(f"from {root}", got, rank.mine())


def gather(rank):
    for root in range(rank.size):
        got = cupy.zeros((rank.size, COUNT), "float32")
        rank.comm.gather(rank.mine(), got, root)
        if rank.rank == root:
            rank.equal(f"to {root}", got, rank.of_all())


def all_to_all(rank):
    got = cupy.zeros((rank.size, COUNT), "float32")
    rank.comm.all_to_all(rank.of_all() + 10 * rank.rank, got)
    rank.equal("rows", got, rank.mine() + 10 * cupy.arange(rank.size, dtype="float32").reshape(-1, 1))


def barrier(rank):
    rank.comm.barrier()


CASES = {
    function.__name__: function
    for function in (
        all_reduce, reduce, broadcast, reduce_scatter, all_gather, send_recv, scatter, gather, all_to_all, barrier,
    )
}


def main():
    parser = worker_arguments()
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    run_ranks(options, Rank(options), CASES)


if __name__ == "__main__":
    main()
