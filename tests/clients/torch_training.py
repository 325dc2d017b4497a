"""Cases of torch_test.py: training in parallel is the training of one process on the whole batch."""

import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

LETTERS, CONTEXT, WIDTH, HEADS, LAYERS = 61, 32, 64, 4, 3
BATCH, STEPS = 8, 8
TOLERANCE = 1e-5  # of the losses, relative: the sums run in another order


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mixing = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mixing = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        # Attention by hand: the fused kernels' backward passes need not give the same bits twice.
        query, key, value = (
            part.view(batch, length, HEADS, -1).transpose(1, 2)
            for part in self.attention(self.before_attention(x)).split(WIDTH, dim=2)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(WIDTH / HEADS)
        future = torch.ones(length, length, device=x.device).triu(1).bool()
        mixed = scores.masked_fill(future, -math.inf).softmax(3) @ value
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mixing(self.before_mixing(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, LETTERS, bias=False)

    def forward(self, text):
        x = self.letters(text) + self.places(torch.arange(text.shape[1], device=text.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def make_model(rank):
    torch.manual_seed(7)
    return Model().to(rank.device)


def batch_of(step, rank):
    """Texts that count on in steps of their own: there is something to learn."""
    source = torch.Generator().manual_seed(1000 + step)
    start = torch.randint(LETTERS, (BATCH, 1), generator=source)
    stride = torch.randint(1, 4, (BATCH, 1), generator=source)
    text = (start + stride * torch.arange(CONTEXT + 1)) % LETTERS
    return text.to(rank.device)


def loss_of(model, text):
    logits = model(text[:, :-1])
    return functional.cross_entropy(logits.reshape(-1, LETTERS), text[:, 1:].reshape(-1))


def average(rank, value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return value.item() / rank.size


def plain(parameters):
    return torch.optim.SGD(parameters, lr=0.3, momentum=0.9)


def adam(parameters):
    # A large epsilon: without it a gradient that is only rounding moves a weight by the whole rate.
    return torch.optim.AdamW(parameters, lr=3e-3, eps=1e-3)


def train(rank, model, optimizer, share, clip=True):
    """The losses of each step over the whole batch. `share`: this process takes a part of each batch."""
    losses = []
    for step in range(STEPS):
        text = batch_of(step, rank)
        if share:
            part = BATCH // rank.size
            text = text[rank.rank * part : (rank.rank + 1) * part]
        optimizer.zero_grad()
        loss = loss_of(model, text)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(average(rank, loss) if share else loss.item())
    return losses


def settle(rank):
    """The same bits for the same calls."""
    if BATCH % rank.size:
        raise ValueError(f"{rank.size} ranks cannot share a batch of {BATCH}")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def compare(rank, alone, together):
    rank.check("learning", alone[-1] < 0.95 * alone[0], f"{alone[0]:.4f} to {alone[-1]:.4f}")
    worst = rank.near("losses", torch.tensor(together), torch.tensor(alone), TOLERANCE)
    rank.note = f"loss {alone[0]:.4f} to {alone[-1]:.4f}, off by {worst:.1e}"


def trained_alone(rank, make_optimizer):
    settle(rank)
    model = make_model(rank)
    return train(rank, model, make_optimizer(model.parameters()), share=False)


def ddp(rank):
    alone = trained_alone(rank, plain)
    # Small buckets: many calls, which overlap the backward pass.
    model = nn.parallel.DistributedDataParallel(make_model(rank), bucket_cap_mb=0.1)
    compare(rank, alone, train(rank, model, plain(model.parameters()), share=True))
    total = torch.stack([p.detach().double().sum() for p in model.parameters()])
    highest, lowest = total.clone(), total.clone()
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
    rank.equal("weights of all ranks", highest, lowest)


def ddp_in_place(rank):
    """Gradients that live in the buckets, and a graph that is known to stay the same."""
    alone = trained_alone(rank, plain)
    model = nn.parallel.DistributedDataParallel(
        make_model(rank), bucket_cap_mb=0.5, gradient_as_bucket_view=True, static_graph=True)
    compare(rank, alone, train(rank, model, plain(model.parameters()), share=True))


def ddp_accumulated(rank):
    """Two halves of each part: the first without communication."""
    alone = trained_alone(rank, plain)
    model = nn.parallel.DistributedDataParallel(make_model(rank), bucket_cap_mb=0.1)
    optimizer = plain(model.parameters())
    losses = []
    for step in range(STEPS):
        part = BATCH // rank.size
        halves = batch_of(step, rank)[rank.rank * part : (rank.rank + 1) * part].chunk(2)
        optimizer.zero_grad()
        with model.no_sync():
            first = loss_of(model, halves[0]) / 2
            first.backward()
        second = loss_of(model, halves[1]) / 2
        second.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(average(rank, first + second))
    compare(rank, alone, losses)


def sharded(rank, make_optimizer, **options):
    from torch.distributed.fsdp import fully_shard

    alone = trained_alone(rank, make_optimizer)
    mesh = dist.init_device_mesh(rank.device.type, (rank.size,))
    model = make_model(rank)
    for block in model.blocks:
        fully_shard(block, mesh=mesh, **options)
    fully_shard(model, mesh=mesh, **options)
    compare(rank, alone, train(rank, model, make_optimizer(model.parameters()), share=True))


def fsdp2(rank):
    sharded(rank, plain)


def fsdp2_kept(rank):
    """Weights stay gathered between the passes."""
    sharded(rank, adam, reshard_after_forward=False)


def zero(rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    alone = trained_alone(rank, adam)
    model = nn.parallel.DistributedDataParallel(make_model(rank), bucket_cap_mb=0.1)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.AdamW, lr=3e-3, eps=1e-3, parameters_as_bucket_view=True)
    compare(rank, alone, train(rank, model, optimizer, share=True))


CASES = {function.__name__: function for function in (ddp, ddp_in_place, ddp_accumulated, fsdp2, fsdp2_kept, zero)}
