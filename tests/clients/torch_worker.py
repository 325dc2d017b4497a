"""One rank of torch_test.py: runs named cases one after another and reports each.

After each case the ranks tell one another through a file how it went, so that none begins the next one while another
has failed. A wrong value lets the world go on; an exception ends it, for the ranks may no longer agree on what comes
next, and the parent gives the remaining cases a fresh world.
"""

import argparse
import datetime
import os
import sys
import time
import traceback

import torch
import torch.distributed as dist

import torch_collectives
import torch_faults
import torch_groups
import torch_streams
import torch_training
from suites import Reporter
from torch_world import CaseSkipped, Rank

SUITES = {
    "collectives": torch_collectives.CASES,
    "groups": torch_groups.CASES,
    "streams": torch_streams.CASES,
    "training": torch_training.CASES,
    "faults": torch_faults.CASES,
}
BROKEN = 3  # the exit status of a rank that left its world


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--init", required=True)
    parser.add_argument("--folder", required=True, help="of this world: reports, and files to meet at")
    parser.add_argument("--library", default="")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--rehearse", action="store_true")
    return parser.parse_args()


def run_case(rank, name, function):
    """How the case went: (word, text)."""
    rank.problems = []
    try:
        function(rank)
        rank.synchronize()
    except CaseSkipped as why:
        return "skipped", why
    except Exception:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
        return "broken", traceback.format_exc().strip().splitlines()[-1]
    if rank.problems:
        for problem in rank.problems:
            print(f"{name}: {problem}", flush=True)
        return "wrong", rank.problems[0] + (f" and {len(rank.problems) - 1} more" if rank.problems[1:] else "")
    return "ok", rank.take_note()


def agree(store, rank, name, word, limit):
    """Whether every rank got through the case."""
    store.set(f"{name}:{rank.rank}", word)
    if word == "broken":
        return False
    keys = [f"{name}:{other}" for other in range(rank.size)]
    store.wait(keys, datetime.timedelta(seconds=limit))
    return all(store.get(key) != b"broken" for key in keys)


def main():
    options = arguments()
    reporter = Reporter(f"{options.folder}/report{options.rank}")
    torch.manual_seed(1)
    rank = Rank(options)
    begun = time.monotonic()
    store = dist.FileStore(f"{options.folder}/agreement", options.size)
    reporter.say("begin", "start")
    rank.start()
    reporter.say("ok", "start", f"{time.monotonic() - begun:.2f} s")
    for name in options.cases.split(","):
        reporter.say("begin", name)
        begun = time.monotonic()
        word, text = run_case(rank, name, SUITES[options.suite][name])
        seconds = f"{time.monotonic() - begun:.2f} s"
        reporter.say(word, name, f"{seconds}, {text}" if word == "ok" and text else text or seconds)
        if not agree(store, rank, name, word, options.timeout):
            sys.stdout.flush()
            sys.stderr.flush()
            # Without destructors: they could wait for the other ranks.
            os._exit(BROKEN)
    reporter.say("begin", "end")
    begun = time.monotonic()
    dist.destroy_process_group()
    reporter.say("ok", "end", f"{time.monotonic() - begun:.2f} s")


if __name__ == "__main__":
    main()
