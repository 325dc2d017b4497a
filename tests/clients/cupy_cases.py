"""Cases of cupy_test.py."""

import cupy
from cupy.cuda import nccl

from worker import CaseSkipped

TYPES = {
    "int8": nccl.NCCL_INT8, "uint8": nccl.NCCL_UINT8, "int32": nccl.NCCL_INT32, "int64": nccl.NCCL_INT64,
    "uint64": nccl.NCCL_UINT64, "float16": nccl.NCCL_FLOAT16, "float32": nccl.NCCL_FLOAT32,
    "float64": nccl.NCCL_FLOAT64,
}
OPS = {"sum": nccl.NCCL_SUM, "prod": nccl.NCCL_PROD, "max": nccl.NCCL_MAX, "min": nccl.NCCL_MIN}
COUNTS = (1, 1023, 65537)
FLOAT = nccl.NCCL_FLOAT32


def pattern(count, dtype, rank, op="sum"):
    """Small whole numbers, different on every rank: their sums and products are exact in every type."""
    index = cupy.arange(count, dtype="int64")
    values = (index + rank) % 2 + 1 if op == "prod" else (index * 7 + rank * 3) % 5 + 1
    return values.astype(dtype)


def reduced(ranks, count, dtype, op="sum"):
    values = cupy.stack([pattern(count, "int64", rank, op) for rank in range(ranks.size)])
    return getattr(values, op)(axis=0).astype(dtype)


def inputs(ranks, count, dtype="float32", op="sum"):
    return {member.rank: pattern(count, dtype, member.rank, op) for member in ranks.members}


def outputs(ranks, count, dtype="float32"):
    return {member.rank: cupy.full(count, 77, dtype) for member in ranks.members}


def same_everywhere(ranks, name, got, expected):
    for rank, array in got.items():
        ranks.equal(f"{name}, rank {rank}", array, expected)


def facts(ranks):
    for member in ranks.members:
        told = (member.comm.size(), member.comm.rank_id(), member.comm.device_id())
        if told != (ranks.size, member.rank, 0):
            ranks.problems.append(f"size, rank and device are {told}")
        member.comm.check_async_error()


def all_reduce(ranks):
    for dtype, code in TYPES.items():
        for op, operation in OPS.items():
            for count in COUNTS:
                sent, got = inputs(ranks, count, dtype, op), outputs(ranks, count, dtype)
                ranks.run(lambda m, s: m.comm.allReduce(
                    sent[m.rank].data.ptr, got[m.rank].data.ptr, count, code, operation, s))
                same_everywhere(ranks, f"{dtype} {op} of {count}", got, reduced(ranks, count, dtype, op))


def all_reduce_in_place(ranks):
    for count in (*COUNTS, 10**7 + 1):
        both = inputs(ranks, count)
        ranks.run(lambda m, s: m.comm.allReduce(
            both[m.rank].data.ptr, both[m.rank].data.ptr, count, FLOAT, nccl.NCCL_SUM, s))
        same_everywhere(ranks, f"{count}", both, reduced(ranks, count, "float32"))


def all_reduce_average(ranks):
    sent, got = inputs(ranks, 1023), outputs(ranks, 1023)
    ranks.run(lambda m, s: m.comm.allReduce(
        sent[m.rank].data.ptr, got[m.rank].data.ptr, 1023, FLOAT, nccl.NCCL_AVG, s))
    same_everywhere(ranks, "average", got, (reduced(ranks, 1023, "float64") / ranks.size).astype("float32"))


def reduce(ranks):
    for root in range(ranks.size):
        for count in COUNTS:
            sent, got = inputs(ranks, count), outputs(ranks, count)
            ranks.run(lambda m, s: m.comm.reduce(
                sent[m.rank].data.ptr, got[m.rank].data.ptr, count, FLOAT, nccl.NCCL_SUM, root, s))
            if root in got:
                ranks.equal(f"{count} to {root}", got[root], reduced(ranks, count, "float32"))


def broadcast(ranks):
    for root in range(ranks.size):
        for count in COUNTS:
            sent, got = inputs(ranks, count), outputs(ranks, count)
            ranks.run(lambda m, s: m.comm.broadcast(
                sent[m.rank].data.ptr, got[m.rank].data.ptr, count, FLOAT, root, s))
            same_everywhere(ranks, f"{count} from {root}", got, pattern(count, "float32", root))
            both = inputs(ranks, count)
            ranks.run(lambda m, s: m.comm.bcast(both[m.rank].data.ptr, count, FLOAT, root, s))
            same_everywhere(ranks, f"{count} from {root}, in place", both, pattern(count, "float32", root))


def reduce_scatter(ranks):
    for count in COUNTS:
        sent, got = inputs(ranks, count * ranks.size), outputs(ranks, count)
        ranks.run(lambda m, s: m.comm.reduceScatter(
            sent[m.rank].data.ptr, got[m.rank].data.ptr, count, FLOAT, nccl.NCCL_SUM, s))
        total = reduced(ranks, count * ranks.size, "float32")
        for rank, array in got.items():
            ranks.equal(f"{count}, rank {rank}", array, total[rank * count : (rank + 1) * count])


def all_gather(ranks):
    for dtype, code in TYPES.items():
        for count in COUNTS:
            sent, got = inputs(ranks, count, dtype), outputs(ranks, count * ranks.size, dtype)
            ranks.run(lambda m, s: m.comm.allGather(sent[m.rank].data.ptr, got[m.rank].data.ptr, count, code, s))
            everything = cupy.concatenate([pattern(count, dtype, rank) for rank in range(ranks.size)])
            same_everywhere(ranks, f"{dtype} of {count}", got, everything)


def send_recv(ranks):
    """Around the ring, each rank's two calls in a group; with one rank to itself."""
    for count in COUNTS:
        sent, got = inputs(ranks, count), outputs(ranks, count)

        def call(member, stream, count=count, sent=sent, got=got):
            nccl.groupStart()
            member.comm.send(sent[member.rank].data.ptr, count, FLOAT, (member.rank + 1) % ranks.size, stream)
            member.comm.recv(got[member.rank].data.ptr, count, FLOAT, (member.rank - 1) % ranks.size, stream)
            nccl.groupEnd()

        ranks.run(call)
        for rank, array in got.items():
            ranks.equal(f"{count}, rank {rank}", array, pattern(count, "float32", (rank - 1) % ranks.size))


def split(ranks):
    """Even and odd ranks, in reverse order."""
    if ranks.kind in ("group", "all") and ranks.size > 1:
        raise CaseSkipped("CuPy reads a split communicator before the group has made it")
    made = dict(ranks.each(lambda m: (m.rank, m.comm.commSplit(m.rank % 2, -m.rank))))
    got = inputs(ranks, 1023)
    ranks.run(lambda m, s: made[m.rank].allReduce(
        got[m.rank].data.ptr, got[m.rank].data.ptr, 1023, FLOAT, nccl.NCCL_SUM, s))
    for rank, array in got.items():
        siblings = [other for other in range(ranks.size) if other % 2 == rank % 2]
        expected = cupy.stack([pattern(1023, "float32", other) for other in siblings]).sum(axis=0)
        ranks.equal(f"rank {rank}", array, expected)
        if made[rank].rank_id() != siblings[::-1].index(rank):
            ranks.problems.append(f"rank {rank} is {made[rank].rank_id()} of its part")
    ranks.each(lambda m: made[m.rank].destroy())


def managed_memory(ranks):
    """Buffers that the driver moves between host and device."""
    count = 65537
    both = {}
    for member in ranks.members:
        memory = cupy.cuda.malloc_managed(count * 4)
        both[member.rank] = cupy.ndarray((count,), "float32", memory)
        both[member.rank][:] = pattern(count, "float32", member.rank)
    ranks.run(lambda m, s: m.comm.allReduce(
        both[m.rank].data.ptr, both[m.rank].data.ptr, count, FLOAT, nccl.NCCL_SUM, s))
    same_everywhere(ranks, "sum", both, reduced(ranks, count, "float32"))


def errors(ranks):
    """A wrong call is refused, with a text, and the communicator goes on."""
    member = ranks.members[0]
    buffer = cupy.zeros(4, "float32")
    for name, call in {
        "type": lambda: member.comm.allReduce(buffer.data.ptr, buffer.data.ptr, 4, 99, nccl.NCCL_SUM, 0),
        "operation": lambda: member.comm.allReduce(buffer.data.ptr, buffer.data.ptr, 4, FLOAT, 99, 0),
        "root": lambda: member.comm.broadcast(buffer.data.ptr, buffer.data.ptr, 4, FLOAT, ranks.size, 0),
    }.items():
        try:
            call()
            ranks.problems.append(f"a wrong {name} was accepted")
        except nccl.NcclError as error:
            ranks.note = str(error)
    both = inputs(ranks, 100)
    ranks.run(lambda m, s: m.comm.allReduce(
        both[m.rank].data.ptr, both[m.rank].data.ptr, 100, FLOAT, nccl.NCCL_SUM, s))
    same_everywhere(ranks, "afterwards", both, reduced(ranks, 100, "float32"))


CASES = {
    function.__name__: function
    for function in (
        facts, all_reduce, all_reduce_in_place, all_reduce_average, reduce, broadcast, reduce_scatter,
        all_gather, send_recv, split, managed_memory, errors,
    )
}
