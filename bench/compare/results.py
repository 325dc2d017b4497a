"""From the times of interleaved rounds to who is faster, and by how much. No input or output."""

from dataclasses import dataclass
from statistics import median, quantiles


def bus_share(collective, ranks):
    """What the busiest link carries of each byte, as nccl-tests counts it."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if collective in ("all_gather", "reduce_scatter", "alltoall"):
        return (ranks - 1) / ranks
    return 1.0


def bus_gbps(collective, ranks, size, micros):
    return size * bus_share(collective, ranks) / micros / 1e3


def spread(values):
    """How far the middle half of the rounds lies apart, as a part of their median."""
    if len(values) < 2:
        return 0.0
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


@dataclass(frozen=True)
class Best:
    """A library at the setting that was fastest for one size."""

    setting: str
    times: tuple  # microseconds, in the order of the rounds

    @property
    def micros(self):
        return median(self.times)


def best_setting(times_by_setting):
    """The setting with the least median; None if no setting gave times."""
    found = [Best(name, tuple(times)) for name, times in times_by_setting.items() if times]
    return min(found, key=lambda best: best.micros, default=None)


def ratio(peer_times, own_times):
    """How many times faster than the peer: the median over rounds, whose two times lie close
    together, so that a machine that grows slower from round to round favours neither."""
    return median(peer / own for peer, own in zip(peer_times, own_times))


OWN = ("gyre", "gyre-registered")


def summarize(samples):
    """{library: {setting: [microseconds]}} of one size to {library: Best} without the empty ones."""
    best = {library: best_setting(settings) for library, settings in samples.items()}
    return {library: result for library, result in best.items() if result}


def best_peer(libraries):
    """The name of the fastest library that is not Gyre; None if there is none."""
    peers = [name for name in libraries if name not in OWN]
    return min(peers, key=lambda name: libraries[name].micros, default=None)


def row_of(case, samples, floor_micros):
    """The JSON row of one size. `case`: collective, ranks, transport, bytes."""
    libraries = summarize(samples)
    peer = best_peer(libraries)
    row = {**case, "floor_us": floor_micros, "libraries": {}, "best_peer": peer, "ratio": {}}
    for name, best in libraries.items():
        row["libraries"][name] = {
            "time_us": best.micros,
            "bus_gbps": bus_gbps(case["collective"], case["ranks"], case["bytes"], best.micros),
            "spread": spread(best.times),
            "setting": best.setting,
            "times_us": list(best.times),
        }
    for name in OWN:
        if peer and name in libraries:
            row["ratio"][name] = ratio(libraries[peer].times, libraries[name].times)
    return row
