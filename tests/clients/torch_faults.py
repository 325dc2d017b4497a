"""Cases of torch_test.py in which a rank is missing. The parent judges how, and when, the others end."""

import os
import time

import torch
import torch.distributed as dist

# The parent waits for these words in the output.
CAUGHT = "caught the missing rank"
SILENT = "the silent rank waits"


def meet(rank):
    """A first call, so that what follows is not about init."""
    tensor = rank.pattern(1000, torch.float32)
    dist.all_reduce(tensor)
    rank.synchronize()


def stay_away():
    """Until the parent ends this process."""
    print(SILENT, flush=True)
    while True:
        time.sleep(1)


def await_the_watchdog():
    """The call is over; whether it failed, PyTorch learns from the communicator, and ends this process."""
    time.sleep(60)
    raise RuntimeError("the call of a rank that had no peer came back, and nobody complained")


def silent_rank(rank):
    """The last rank does not join; PyTorch's watchdog is to end the others."""
    rank.need_device("watchdog")
    meet(rank)
    if rank.rank == rank.size - 1:
        stay_away()
    dist.all_reduce(rank.pattern(100003, torch.float32))
    rank.synchronize()
    await_the_watchdog()


def silent_rank_blocking(rank):
    """The last rank does not join; the others' wait is to raise an error that Python can catch."""
    rank.need_device("blocking wait")
    meet(rank)
    if rank.rank == rank.size - 1:
        stay_away()
    try:
        dist.all_reduce(rank.pattern(100003, torch.float32), async_op=True).wait()
        rank.synchronize()
    except Exception as error:  # pylint: disable=broad-exception-caught
        print(f"{CAUGHT}: {error}", flush=True)
        # No destructor may wait for the missing rank.
        os._exit(0)
    raise RuntimeError("the call of a rank that had no peer came back")


def abort(rank):
    """The last rank does not join; the others abort the communicator under its running call."""
    rank.need_device("abort")
    meet(rank)
    if rank.rank == rank.size - 1:
        stay_away()
    dist.all_reduce(rank.pattern(100003, torch.float32), async_op=True)
    time.sleep(1)  # the call is under way when the fault comes
    dist.distributed_c10d._abort_process_group()
    rank.synchronize()
    print(CAUGHT, flush=True)
    os._exit(0)


def lost_rank(rank):
    """The last rank ends without a word; the others are to learn it long before PyTorch's time-out."""
    rank.need_device("watchdog")
    meet(rank)
    if rank.rank == rank.size - 1:
        os._exit(0)
    try:
        dist.all_reduce(rank.pattern(100003, torch.float32))
        rank.synchronize()
    except RuntimeError as error:
        # The loss was known before the call was made: PyTorch raises at once, and the watchdog has nothing to do.
        print(f"{CAUGHT}: {error}", flush=True)
        os._exit(1)
    await_the_watchdog()


CASES = {function.__name__: function for function in (silent_rank, silent_rank_blocking, abort, lost_rank)}
