"""Cases of torch_test.py: each collective, by types, operations and sizes."""

import torch
import torch.distributed as dist

from torch_world import ops_of
from worker import CaseSkipped

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8)
MORE_TYPES = (torch.float64, torch.int32, torch.int8)
SIZES = (1, 2, 3, 17, 255, 1023, 4096, 65537, 1000003)
FEW_SIZES = (1, 5, 1023, 65537)


def all_reduce_of(rank, types, sizes, offset=0):
    """All calls first, so that they run back to back, and then the comparisons."""
    results = []
    for dtype in types:
        for name, op in ops_of(rank).items():
            for count in sizes:
                out, around = rank.guarded(count, dtype, offset)
                out.copy_(rank.pattern(count, dtype, op=name))
                dist.all_reduce(out, op=op)
                results.append((f"{dtype} {name} of {count}", out, around, rank.reduced(count, dtype, name)))
    for name, out, around, expected in results:
        rank.equal(name, out, expected)
        rank.untouched(name, around)


def all_reduce_types(rank):
    all_reduce_of(rank, TYPES, SIZES)


def all_reduce_more_types(rank):
    all_reduce_of(rank, MORE_TYPES, FEW_SIZES)
    flags = torch.tensor([rank.rank == 0, False, True], device=rank.device)
    if rank.rehearsed:
        return
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    rank.equal("bool", flags, torch.tensor([True, False, True], device=rank.device))


def all_reduce_unaligned(rank):
    all_reduce_of(rank, (torch.float32, torch.bfloat16, torch.uint8), (1, 1023, 65537), offset=1)


def all_reduce_large(rank):
    for dtype in (torch.float32, torch.bfloat16):
        count = 10**7 + 1
        out = rank.pattern(count, dtype)
        dist.all_reduce(out)
        rank.equal(f"{dtype}", out, rank.reduced(count, dtype))


def all_reduce_random(rank):
    """Values that round: within what sums in some order may differ by."""
    count = 300007
    values = [torch.randn(count, generator=torch.Generator().manual_seed(100 + other)) for other in range(rank.size)]
    for dtype, relative in ((torch.float32, 3e-7), (torch.float64, 1e-15)):
        inputs = [value.to(rank.device, dtype) for value in values]
        out = inputs[rank.rank].clone()
        dist.all_reduce(out)
        # Relative to the sum of the magnitudes: a sum near zero has no digits to compare.
        scale = torch.stack([value.double().abs() for value in inputs]).sum(0)
        exact = torch.stack([value.double() for value in inputs]).sum(0)
        rank.near(f"{dtype}", (out.double() - exact) / scale + 1, torch.ones_like(exact), relative * rank.size)


def premul_sum(rank):
    rank.need_device("operation that multiplies first")
    for factor in (2.0, torch.tensor([2.0], device=rank.device)):
        out = rank.pattern(1023, torch.float32)
        dist.all_reduce(out, op=dist._make_nccl_premul_sum(factor))
        rank.equal(f"by {factor}", out, 2 * rank.reduced(1023, torch.float32))


def reduce_scatter(rank):
    for dtype in TYPES:
        for name, op in ops_of(rank).items():
            for count in FEW_SIZES:
                out, around = rank.guarded(count, dtype)
                dist.reduce_scatter_tensor(out, rank.pattern(count * rank.size, dtype, op=name), op=op)
                expected = rank.reduced(count * rank.size, dtype, name)
                rank.equal(f"{dtype} {name} of {count}", out, expected[rank.rank * count : (rank.rank + 1) * count])
                rank.untouched(f"{dtype} {name} of {count}", around)


def reduce_scatter_list(rank):
    """Lists of equal and of unequal pieces; the latter become reductions in a group."""
    for lengths in ([1000] * rank.size, [100 * other + 7 for other in range(rank.size)]):
        if rank.rehearsed and len(set(lengths)) > 1:
            continue
        whole = rank.pattern(sum(lengths), torch.float32)
        out = torch.zeros(lengths[rank.rank], device=rank.device)
        dist.reduce_scatter(out, list(whole.split(lengths)))
        rank.equal(f"{lengths}", out, rank.reduced(sum(lengths), torch.float32).split(lengths)[rank.rank])


def all_gather(rank):
    for dtype in (*TYPES, *MORE_TYPES):
        for count in FEW_SIZES:
            out, around = rank.guarded(count * rank.size, dtype)
            dist.all_gather_into_tensor(out, rank.pattern(count, dtype))
            expected = torch.cat([rank.pattern(count, dtype, other) for other in range(rank.size)])
            rank.equal(f"{dtype} of {count}", out, expected)
            rank.untouched(f"{dtype} of {count}", around)


def all_gather_list(rank):
    """Lists of equal and of unequal pieces; the latter become broadcasts in a group."""
    for lengths in ([1000] * rank.size, [100 * other + 7 for other in range(rank.size)]):
        if rank.rehearsed and len(set(lengths)) > 1:
            continue
        outs = [torch.zeros(length, device=rank.device) for length in lengths]
        dist.all_gather(outs, rank.pattern(lengths[rank.rank], torch.float32))
        for other, out in enumerate(outs):
            rank.equal(f"{lengths} from {other}", out, rank.pattern(lengths[other], torch.float32, other))


def all_gather_eight_bits(rank):
    """Types that are moved and not computed with."""
    rank.need_device("eight bit floats in gloo")
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        out = torch.zeros(100 * rank.size, device=rank.device).to(dtype)
        dist.all_gather_into_tensor(out, rank.pattern(100, torch.float32).to(dtype))
        expected = torch.cat([rank.pattern(100, torch.float32, other) for other in range(rank.size)])
        rank.equal(f"{dtype}", out.float(), expected)


def broadcast(rank):
    for root in range(rank.size):
        for dtype in TYPES:
            for count in FEW_SIZES:
                out, around = rank.guarded(count, dtype, 1)
                out.copy_(rank.pattern(count, dtype))
                dist.broadcast(out, src=root)
                rank.equal(f"{dtype} of {count} from {root}", out, rank.pattern(count, dtype, root))
                rank.untouched(f"{dtype} of {count} from {root}", around)


def reduce(rank):
    for root in range(rank.size):
        for name, op in ops_of(rank).items():
            for count in FEW_SIZES:
                out = rank.pattern(count, torch.float32, op=name)
                dist.reduce(out, dst=root, op=op)
                # The others' tensors are not specified.
                if rank.rank == root:
                    rank.equal(f"{name} of {count} to {root}", out, rank.reduced(count, torch.float32, name))


def gather_scatter(rank):
    for root in range(rank.size):
        mine = rank.pattern(1023, torch.float32)
        outs = [torch.zeros(1023, device=rank.device) for _ in range(rank.size)] if rank.rank == root else None
        dist.gather(mine, outs, dst=root)
        for other, out in enumerate(outs or []):
            rank.equal(f"gathered at {root} from {other}", out, rank.pattern(1023, torch.float32, other))
        parts = [rank.pattern(999, torch.int64, other) for other in range(rank.size)] if rank.rank == root else None
        out = torch.zeros(999, dtype=torch.int64, device=rank.device)
        dist.scatter(out, parts, src=root)
        rank.equal(f"scattered from {root}", out, rank.pattern(999, torch.int64))


def piece(rank, source, target, count):
    """What `source` sends to `target`: every pair has its own."""
    return rank.pattern(count, torch.float32, source) + 10 * target


def all_to_all_even(rank):
    for count in (1, 1023, 100003):
        sent = torch.cat([piece(rank, rank.rank, other, count) for other in range(rank.size)])
        out, around = rank.guarded(count * rank.size, torch.float32)
        dist.all_to_all_single(out, sent)
        rank.equal(f"{count}", out, torch.cat([piece(rank, other, rank.rank, count) for other in range(rank.size)]))
        rank.untouched(f"{count}", around)


def all_to_all_uneven(rank):
    def length(source, target):
        return 0 if (source + target) % 3 == 2 else 1000 * source + 37 * target + 1

    to = [length(rank.rank, other) for other in range(rank.size)]
    of = [length(other, rank.rank) for other in range(rank.size)]
    sent = torch.cat([piece(rank, rank.rank, other, count) for other, count in enumerate(to)])
    out, around = rank.guarded(sum(of), torch.float32)
    dist.all_to_all_single(out, sent, of, to)
    rank.equal("result", out, torch.cat([piece(rank, other, rank.rank, count) for other, count in enumerate(of)]))
    rank.untouched("result", around)


def all_to_all_list(rank):
    rank.need_device("all_to_all of lists in gloo")
    outs = [torch.zeros(50 + other, device=rank.device) for other in range(rank.size)]
    dist.all_to_all(outs, [piece(rank, rank.rank, other, 50 + rank.rank) for other in range(rank.size)])
    for other, out in enumerate(outs):
        rank.equal(f"from {other}", out, piece(rank, other, rank.rank, 50 + other))


def objects(rank):
    got = [None] * rank.size
    dist.all_gather_object(got, {"rank": rank.rank, "text": "x" * (10 + rank.rank)})
    rank.check("gathered", [item["rank"] for item in got] == list(range(rank.size)), str(got))
    sent = [["from", 0], None] if rank.rank == 0 else [None, None]
    dist.broadcast_object_list(sent, src=0)
    rank.check("broadcast", sent == [["from", 0], None], str(sent))


def functional(rank):
    """The collectives that torch.compile and DTensor use."""
    from torch.distributed import _functional_collectives as functions

    if not hasattr(functions, "all_reduce"):
        raise CaseSkipped("this PyTorch has no functional collectives")
    group = dist.group.WORLD
    out = functions.all_reduce(rank.pattern(1023, torch.float32), "sum", group)
    rank.equal("all_reduce", out + 0, rank.reduced(1023, torch.float32))
    out = functions.all_gather_tensor(rank.pattern(33, torch.float32), 0, group)
    rank.equal("all_gather", out + 0, torch.cat([rank.pattern(33, torch.float32, o) for o in range(rank.size)]))
    out = functions.reduce_scatter_tensor(rank.pattern(33 * rank.size, torch.float32), "sum", 0, group)
    expected = rank.reduced(33 * rank.size, torch.float32)
    rank.equal("reduce_scatter", out + 0, expected[33 * rank.rank : 33 * (rank.rank + 1)])


CASES = {
    function.__name__: function
    for function in (
        all_reduce_types, all_reduce_more_types, all_reduce_unaligned, all_reduce_large, all_reduce_random, premul_sum,
        reduce_scatter, reduce_scatter_list, all_gather, all_gather_list, all_gather_eight_bits, broadcast,
        reduce, gather_scatter, all_to_all_even, all_to_all_uneven, all_to_all_list, objects, functional,
    )
}
