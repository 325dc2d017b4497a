"""Cases of torch_test.py: messages between two ranks, calls in groups, groups of ranks, the ends of communicators."""

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _coalescing_manager

from worker import CaseSkipped

COUNTS = (1, 1023, 300007)


def send_recv(rank):
    """Around the ring, one after another; an odd and an even side, so that no two ranks wait for each other."""
    following, before = (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8):
        for count in COUNTS:
            out, around = rank.guarded(count, dtype)
            if rank.rank % 2 == 0:
                dist.send(rank.pattern(count, dtype), following)
                dist.recv(out, before)
            else:
                dist.recv(out, before)
                dist.send(rank.pattern(count, dtype), following)
            rank.equal(f"{dtype} of {count}", out, rank.pattern(count, dtype, before))
            rank.untouched(f"{dtype} of {count}", around)


def isend_irecv(rank):
    """Several messages between the same ranks keep their order."""
    partner = rank.rank ^ 1
    if partner >= rank.size:
        raise CaseSkipped("a rank without a partner")
    outs = [torch.zeros(1000 + i, device=rank.device) for i in range(8)]
    sent = [rank.pattern(1000 + i, torch.float32) + i for i in range(8)]
    works = []
    for out, message in zip(outs, sent):
        first, second = (dist.isend, message), (dist.irecv, out)
        for call, tensor in (first, second) if rank.rank < partner else (second, first):
            works.append(call(tensor, partner))
    for work in works:
        work.wait()
    for i, out in enumerate(outs):
        rank.equal(f"message {i}", out, rank.pattern(1000 + i, torch.float32, partner) + i)


def batch_isend_irecv(rank):
    """Every rank with every other at once, in one group, several times."""
    for count in COUNTS:
        outs = {other: torch.zeros(count, device=rank.device) for other in rank.others}
        calls = [dist.P2POp(dist.isend, rank.pattern(count, torch.float32) + other, other) for other in rank.others]
        calls += [dist.P2POp(dist.irecv, outs[other], other) for other in rank.others]
        for work in dist.batch_isend_irecv(calls):
            work.wait()
        for other, out in outs.items():
            rank.equal(f"{count} from {other}", out, rank.pattern(count, torch.float32, other) + rank.rank)


def coalesced_all_reduce(rank):
    rank.need_device("groups of calls in gloo")
    for asynchronous in (False, True):
        tensors = [rank.pattern(count, torch.float32) for count in (1, 100, 1023, 65537, 300007)]
        with _coalescing_manager(device=rank.device, async_ops=asynchronous) as manager:
            for tensor in tensors:
                dist.all_reduce(tensor)
        if asynchronous:
            manager.wait()
        for tensor in tensors:
            rank.equal(f"{tensor.numel()}", tensor, rank.reduced(tensor.numel(), torch.float32))


def coalesced_gather_and_scatter(rank):
    rank.need_device("groups of these calls in gloo")
    counts = (1, 33, 1023, 65537)
    gathered = [torch.zeros(count * rank.size, device=rank.device) for count in counts]
    with _coalescing_manager(device=rank.device):
        for count, out in zip(counts, gathered):
            dist.all_gather_into_tensor(out, rank.pattern(count, torch.float32))
    scattered = [torch.zeros(count, device=rank.device) for count in counts]
    with _coalescing_manager(device=rank.device):
        for count, out in zip(counts, scattered):
            dist.reduce_scatter_tensor(out, rank.pattern(count * rank.size, torch.float32))
    for count, out, part in zip(counts, gathered, scattered):
        everything = torch.cat([rank.pattern(count, torch.float32, other) for other in range(rank.size)])
        rank.equal(f"gathered {count}", out, everything)
        total = rank.reduced(count * rank.size, torch.float32)
        rank.equal(f"scattered {count}", part, total[rank.rank * count : (rank.rank + 1) * count])


def coalesced_messages(rank):
    """Messages and a collective of one rank in the same group."""
    rank.need_device("groups of messages in gloo")
    following, before = (rank.rank + 1) % rank.size, (rank.rank - 1) % rank.size
    out = torch.zeros(5000, device=rank.device)
    with _coalescing_manager(device=rank.device, async_ops=True) as manager:
        dist.isend(rank.pattern(5000, torch.float32), following)
        dist.irecv(out, before)
    manager.wait()
    rank.equal("message", out, rank.pattern(5000, torch.float32, before))


def use_group(rank, name, group, members):
    """A few calls in a group that this rank belongs to."""
    total = rank.pattern(1023, torch.float32)
    dist.all_reduce(total, group=group)
    rank.equal(f"{name}: all_reduce", total, rank.reduced(1023, torch.float32, ranks=members))
    out = rank.pattern(77, torch.float32)
    dist.broadcast(out, src=members[-1], group=group)
    rank.equal(f"{name}: broadcast", out, rank.pattern(77, torch.float32, members[-1]))


def new_group(rank):
    """Each pair, each rank alone, all in reverse order; every rank makes each of them, as PyTorch demands."""
    choices = [[first, first + 1] for first in range(rank.size - 1)] + [[only] for only in range(rank.size)]
    groups = [(members, dist.new_group(members)) for members in (*choices, list(range(rank.size)))]
    for members, group in groups:
        if rank.rank in members:
            use_group(rank, f"{members}", group, members)
    for members, group in groups:
        if rank.rank in members:
            dist.destroy_process_group(group)


def new_group_of_members(rank):
    """Only the members meet."""
    members = [other for other in range(rank.size) if other % 2 == rank.rank % 2]
    group = dist.new_group(members, use_local_synchronization=True)
    use_group(rank, f"{members}", group, members)
    dist.destroy_process_group(group)


def split_group(rank):
    rank.need_device("split_group in gloo")
    if not hasattr(dist, "split_group"):
        raise CaseSkipped("this PyTorch has no split_group")
    halves = [list(range(rank.size // 2)), list(range(rank.size // 2, rank.size))]
    parent = dist.group.WORLD._get_backend(rank.device)
    before = parent.comm_split_count()
    group = dist.split_group(split_ranks=halves)
    rank.check("splits", parent.comm_split_count() == before + 1, f"{before}, then {parent.comm_split_count()}")
    mine = next(half for half in halves if rank.rank in half)
    use_group(rank, f"{mine}", group, mine)
    # The whole world again, which still works beside its parts.
    use_group(rank, "world", dist.group.WORLD, list(range(rank.size)))
    dist.destroy_process_group(group)


def device_mesh(rank):
    from torch.distributed.device_mesh import init_device_mesh

    rows = 2 if rank.size % 2 == 0 else 1
    mesh = init_device_mesh(rank.device.type, (rows, rank.size // rows), mesh_dim_names=("row", "column"))
    for dimension in ("row", "column"):
        group = mesh.get_group(dimension)
        use_group(rank, dimension, group, dist.get_process_group_ranks(group))


def many_communicators(rank):
    """Made, used and ended several times; all of them used in turn while they live together."""
    for _ in range(2):
        groups = [dist.new_group(list(range(rank.size))) for _ in range(4)]
        for round_number in range(3):
            for group in groups:
                use_group(rank, f"round {round_number}", group, list(range(rank.size)))
        for group in groups:
            dist.destroy_process_group(group)


def barrier(rank):
    for _ in range(10):
        dist.barrier()
    dist.barrier(async_op=True).wait()
    if not rank.rehearsed:
        dist.barrier(device_ids=[rank.device.index])


def monitored(rank):
    """The state that the watchdog keeps: nothing is left to wait for, and no error."""
    rank.need_device("watchdog in gloo")
    dist.all_reduce(rank.pattern(1000, torch.float32))
    rank.synchronize()
    backend = dist.group.WORLD._get_backend(rank.device)
    if hasattr(backend, "_verify_work_timeout"):
        rank.check("backend", backend.name() == "nccl", backend.name())
    error = backend.get_error() if hasattr(backend, "get_error") else None
    rank.check("error", error is None or "SUCCESS" in str(error).upper(), str(error))


def memory_pool(rank):
    """Memory from ncclMemAlloc, registered with the communicator."""
    rank.need_device("registered memory in gloo")
    backend = dist.group.WORLD._get_backend(rank.device)
    try:
        pool = torch.cuda.MemPool(backend.mem_allocator)
    except (AttributeError, RuntimeError) as why:  # it wants multicast, which not every machine has
        raise CaseSkipped(f"PyTorch has no such allocator here: {why}") from why
    with torch.cuda.use_mem_pool(pool):
        out = torch.zeros(300007, device=rank.device)
    backend.register_mem_pool(pool)
    for _ in range(3):
        out.copy_(rank.pattern(300007, torch.float32))
        dist.all_reduce(out)
        rank.equal("all_reduce", out, rank.reduced(300007, torch.float32))
    rank.synchronize()
    backend.deregister_mem_pool(pool)
    del out, pool


def start_again(rank):
    """The world ends and another one begins, in the same processes."""
    for times in range(2):
        dist.destroy_process_group()
        rank.start(f"file://{rank.folder}/again{times}")
        use_group(rank, f"world {times}", dist.group.WORLD, list(range(rank.size)))


CASES = {
    function.__name__: function
    for function in (
        send_recv, isend_irecv, batch_isend_irecv, coalesced_all_reduce, coalesced_gather_and_scatter,
        coalesced_messages, new_group, new_group_of_members, split_group, device_mesh, many_communicators, barrier,
        monitored, memory_pool, start_again,
    )
}
