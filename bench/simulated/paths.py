"""The ways between host ranks that are measured, and how programs are started on them."""

import subprocess
from dataclasses import dataclass

from compare.libraries import Series

# Every slice goes through a slot, written by its sender and read by its receiver: what the simulator
# models. By default, large slices of memory that peers can read are not copied but referred to.
THROUGH_SLOTS = {"GYRE_ZERO_COPY": "1T"}
TCP_ONLY = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}

# A network of its own, so that nobody else is slowed down. All connections share the shaped link,
# both directions of each together, as it is one loopback device. The burst holds the slots that are
# under way at a time: with less, the shaper stops and starts within a slot and gives half its rate.
SHAPED = (
    "unshare", "--net", "sh", "-c",
    'ip link set lo up && tc qdisc add dev lo root tbf rate "$0"bit burst 1m latency 500ms && '
    'exec "$@"',
)  # fmt: skip


@dataclass(frozen=True)
class Path:
    name: str
    environment: dict
    prefix: tuple = ()

    @property
    def shares_a_link(self):
        return bool(self.prefix)

    def series(self, build, ranks, algorithm):
        """What compare.measure starts. Only the ring has a name by which it can be chosen."""
        chosen = {"NCCL_ALGO": "Ring"} if algorithm == "ring" else {}
        launch = (*self.prefix, f"{build}/bin/gyre", "run", "-n", str(ranks), "--bind-to", "core")
        arguments = ("--memory_kind", "plain")
        return Series("gyre", algorithm, launch, arguments, {**self.environment, **chosen})


def shared_memory():
    return Path("shm", THROUGH_SLOTS)


def shaped_tcp(bits_per_second):
    return Path("tcp", TCP_ONLY, (*SHAPED, str(bits_per_second)))


def can_shape(path):
    """Whether this process may make a network and shape it; else what was said instead."""
    done = subprocess.run(
        [*path.prefix, "true"], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else done.stderr.strip()
