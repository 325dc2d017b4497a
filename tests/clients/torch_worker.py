"""One rank of torch_test.py.

After each case the ranks tell one another through a file how it went, so that none begins the next one while another
has failed.
"""

import datetime

import torch
import torch.distributed as dist

import torch_collectives
import torch_faults
import torch_groups
import torch_streams
import torch_training
from torch_world import Rank
from worker import run_ranks, worker_arguments

SUITES = {
    "collectives": torch_collectives.CASES,
    "groups": torch_groups.CASES,
    "streams": torch_streams.CASES,
    "training": torch_training.CASES,
    "faults": torch_faults.CASES,
}


def arguments():
    parser = worker_arguments()
    parser.add_argument("--suite", required=True)
    parser.add_argument("--init", required=True)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--gpus", type=int, default=1, help="that the ranks take in turn")
    return parser.parse_args()


def agree(store, options, name, word):
    """Whether every rank got through the case."""
    store.set(f"{name}:{options.rank}", word)
    if word == "broken":
        return False
    keys = [f"{name}:{rank}" for rank in range(options.size)]
    store.wait(keys, datetime.timedelta(seconds=options.timeout))
    return all(store.get(key) != b"broken" for key in keys)


def main():
    options = arguments()
    torch.manual_seed(1)
    store = dist.FileStore(f"{options.folder}/agreement", options.size)
    run_ranks(options, Rank(options), SUITES[options.suite], lambda name, word: agree(store, options, name, word))


if __name__ == "__main__":
    main()
