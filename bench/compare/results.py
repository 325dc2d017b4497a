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


def fastest(libraries, names):
    """Which of `names` that have times is fastest; None if none has."""
    found = [name for name in names if name in libraries]
    return min(found, key=lambda name: libraries[name].micros, default=None)


def ratios_to(libraries, other):
    """How many times faster than `other` each of Gyre's own series is."""
    return {
        name: ratio(libraries[other].times, libraries[name].times)
        for name in OWN
        if other and name in libraries
    }


def row_of(case, samples, floor_micros, references=()):
    """The JSON row of one size. `case`: collective, ranks, transport, bytes. `references` are
    libraries that are no peers."""
    libraries = summarize(samples)
    peer = fastest(libraries, set(libraries) - set(OWN) - set(references))
    row = {**case, "floor_us": floor_micros, "libraries": {}}
    row |= {"best_peer": peer, "ratio": ratios_to(libraries, peer)}
    reference = fastest(libraries, references)
    if reference:
        row |= {"best_reference": reference, "reference_ratio": ratios_to(libraries, reference)}
    for name, best in libraries.items():
        row["libraries"][name] = {
            "time_us": best.micros,
            "bus_gbps": bus_gbps(case["collective"], case["ranks"], case["bytes"], best.micros),
            "spread": spread(best.times),
            "setting": best.setting,
            "times_us": list(best.times),
        }
    return row
