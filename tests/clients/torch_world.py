"""What a rank knows and compares in the cases of torch_test.py."""

import datetime

import torch
import torch.distributed as dist

from worker import CaseSkipped

GUARD = 64  # elements past an output's end that must stay as they were


class Rank:
    def __init__(self, options):
        self.rank, self.size = options.rank, options.size
        self.init, self.timeout = options.init, options.timeout
        self.folder = options.folder
        self.rehearsed = options.rehearse
        self.device = torch.device("cpu" if self.rehearsed else f"cuda:{options.rank % options.gpus}")
        self.problems = []
        self.note = ""

    def start(self, init=None):
        if not self.rehearsed:
            torch.cuda.set_device(self.device)
            self.note = "version " + ".".join(map(str, torch.cuda.nccl.version()))
        dist.init_process_group(
            backend="gloo" if self.rehearsed else "nccl",
            init_method=init or self.init,
            rank=self.rank,
            world_size=self.size,
            timeout=datetime.timedelta(seconds=self.timeout),
            # With a device the communicator is made now, and subgroups are split from it.
            device_id=None if self.rehearsed else self.device,
        )

    def synchronize(self):
        if not self.rehearsed:
            torch.cuda.synchronize()

    def end(self):
        dist.destroy_process_group()

    def need_device(self, why):
        if self.rehearsed:
            raise CaseSkipped(f"a rehearsal on the host has no {why}")

    @property
    def others(self):
        return [other for other in range(self.size) if other != self.rank]

    def check(self, name, condition, text=""):
        if not condition:
            self.problems.append(f"{name}: {text or 'does not hold'}")

    def equal(self, name, got, expected):
        """Every bit, but for the sign of zero."""
        if got.shape != expected.shape or got.dtype != expected.dtype:
            self.problems.append(f"{name}: {got.dtype}{tuple(got.shape)}, not {expected.dtype}{tuple(expected.shape)}")
        elif not torch.equal(got, expected):
            wrong = (got != expected).flatten().nonzero().flatten()
            first = int(wrong[0])
            self.problems.append(
                f"{name}: {len(wrong)} of {got.numel()} elements differ, first [{first}]: "
                f"{got.flatten()[first].item()}, not {expected.flatten()[first].item()}")

    def near(self, name, got, expected, relative):
        got, expected = got.double(), expected.double()
        worst = ((got - expected).abs() / expected.abs().clamp_min(1e-30)).max().item() if got.numel() else 0.0
        if not worst <= relative:  # also true for a NaN
            self.problems.append(f"{name}: off by {worst:.3g}, {relative:.3g} is allowed")
        return worst

    def pattern(self, count, dtype, rank=None, op="sum"):
        """Small whole numbers, different on every rank: their sums and products are exact in every type."""
        rank = self.rank if rank is None else rank
        index = torch.arange(count, device=self.device)
        values = (index + rank) % 2 + 1 if op == "prod" else (index * 7 + rank * 3) % 5 + 1
        return values.to(dtype)

    def reduced(self, count, dtype, op="sum", ranks=None):
        """What the patterns of the ranks become."""
        ranks = range(self.size) if ranks is None else ranks
        all_values = torch.stack([self.pattern(count, torch.int64, rank, op) for rank in ranks])
        if op == "avg":
            total = all_values.sum(0)
            return (total.double() / len(ranks) if dtype.is_floating_point else total // len(ranks)).to(dtype)
        fold = {"sum": lambda v: v.sum(0), "prod": lambda v: v.prod(0), "max": lambda v: v.amax(0),
                "min": lambda v: v.amin(0)}[op]
        return fold(all_values).to(dtype)

    def guarded(self, count, dtype, offset=0):
        """An output of `count` elements inside memory that is filled with a sign: (output, what lies around it)."""
        whole = torch.full((offset + count + GUARD,), 77, device=self.device).to(dtype)
        return whole[offset : offset + count], (whole[:offset], whole[offset + count :])

    def untouched(self, name, around):
        for side, memory in zip(("before", "behind"), around):
            if memory.numel() and not bool((memory.float() == 77).all()):
                self.problems.append(f"{name}: memory {side} the result was written")


OPS = {
    "sum": dist.ReduceOp.SUM,
    "avg": dist.ReduceOp.AVG,
    "max": dist.ReduceOp.MAX,
    "min": dist.ReduceOp.MIN,
    "prod": dist.ReduceOp.PRODUCT,
}


def ops_of(rank):
    """The operations of the back-end: gloo, which rehearses, does not average."""
    return {name: op for name, op in OPS.items() if not (rank.rehearsed and name == "avg")}
