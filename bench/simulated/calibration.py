"""What a path costs, measured between two ranks (and, for latencies, in each world).

All times are seconds. A sendrecv is one hop: each rank sends to the next and takes what the one
before it sent. A ring's reduce-scatter of two ranks is one hop that reduces. So

    call        a call of one rank alone, which moves nothing
    alpha       a sendrecv of a few bytes, less the call
    copy        what each further byte of a sendrecv takes, by the size of its buffers
    reduce      what a byte of a reduce-scatter takes more than that of a sendrecv; over shared memory,
                as on a slow link the difference drowns

Where ranks outnumber cores, a hop has to wait for its ranks' turns: alpha is measured in each world,
as no model of a link predicts what the scheduler does. Everything else is predicted from two ranks.
"""

import math
from dataclasses import dataclass, field

from compare.measure import measure

from .paths import shared_memory

FEW_BYTES = 16


@dataclass
class Calibration:
    call: float = 0.0
    alpha: dict = field(default_factory=dict)  # by ranks
    copy: dict = field(default_factory=dict)  # seconds per byte, by size
    reduce: dict = field(default_factory=dict)


def interpolate(points, size):
    """The value at `size`, straight between the logarithms of the measured ones.

    >>> interpolate({4: 10.0, 16: 20.0}, 8)
    15.0
    >>> interpolate({4: 10.0, 16: 20.0}, 1), interpolate({4: 10.0, 16: 20.0}, 99)
    (10.0, 20.0)
    """
    sizes = sorted(points)
    below = max((s for s in sizes if s <= size), default=sizes[0])
    above = min((s for s in sizes if s >= size), default=sizes[-1])
    if below >= above:
        return points[below]
    part = math.log(size / below) / math.log(above / below)
    return points[below] + part * (points[above] - points[below])


def per_byte(times, base):
    """What each byte of `times` (by size) takes beyond `base`; never less than nothing."""
    return {size: max(0.0, seconds - base) / size for size, seconds in times.items()}


class Measuring:
    """The least of several rounds: whatever else runs on the machine only adds."""

    def __init__(self, build, rounds, seconds):
        self.build, self.rounds, self.seconds = build, rounds, seconds

    def times(self, path, ranks, collective, sizes, algorithm="ring"):
        """{bytes: seconds}"""
        series = path.series(self.build, ranks, algorithm)
        rounds = [
            measure(series, self.build, collective, sizes, self.seconds)
            for _ in range(self.rounds)
        ]
        return {size: min(r[size] for r in rounds) * 1e-6 for size in sizes}


def calibrate(measuring, path, worlds, sizes):
    found = Calibration()
    found.call = measuring.times(path, 1, "all_reduce", [FEW_BYTES])[FEW_BYTES]
    for ranks in sorted({2, *worlds}):
        hop = measuring.times(path, ranks, "sendrecv", [FEW_BYTES])[FEW_BYTES]
        found.alpha[ranks] = max(0.0, hop - found.call)
    copies = measuring.times(path, 2, "sendrecv", sizes)
    found.copy = per_byte(copies, found.call + found.alpha[2])
    found.reduce = calibrate_reduce(measuring, sizes)
    return found


def calibrate_reduce(measuring, sizes):
    memory = shared_memory()
    copies = measuring.times(memory, 2, "sendrecv", sizes)
    # Of 2 m bytes, each rank sends and reduces m.
    reduces = measuring.times(memory, 2, "reduce_scatter", [2 * size for size in sizes])
    return {size: max(0.0, reduces[2 * size] - copies[size]) / size for size in sizes}
