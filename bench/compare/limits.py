"""The physical limits of the machine, and the floor that they put under a collective.

A floor is the time that no library of processes with buffers of their own can beat on this machine:
either one core must see what another wrote, or so many bytes must be copied, added or sent, with
as many cores at it as there are ranks, and nothing else to do.
"""

import json
import subprocess


def measure_limits(build, cores, sizes, seconds):
    """What host_limits prints of these cores; None if it cannot measure here (one core)."""
    command = [f"{build}/bin/host_limits", "--seconds", str(seconds)]
    command += ["--cores", ",".join(map(str, cores))]
    command += ["--sizes", ",".join(map(str, sizes))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def best_limits(one, other):
    """The best of two measurements: whatever else ran can only have made a figure worse."""
    if one is None or other is None:
        return one or other
    memory = [
        {key: max(row[key], again[key]) for key in row}
        for row, again in zip(one["memory"], other["memory"], strict=True)
    ]
    best = {key: max(one[key], other[key]) for key in ("tcp_stream_gbps", "tcp_duplex_gbps")}
    best |= {key: min(one[key], other[key]) for key in ("flag_us", "tcp_us")}
    return {"cores": one["cores"], **best, "memory": memory}


def rates_at(limits, size):
    """(copy, sum) in bytes per microsecond for arrays of `size`."""
    row = min(limits["memory"], key=lambda row: abs(row["bytes"] - size))
    return row["copy_gbps"] * 1e3, row["sum_gbps"] * 1e3


def memory_traffic(collective, ranks, size):
    """(bytes that must be copied, bytes of sums that must be made) by all ranks together."""
    if collective == "all_reduce":
        # The last sum may be stored in one rank's buffer as it is made; the others copy it.
        return (ranks - 1) * size, (ranks - 1) * size
    if collective == "reduce_scatter":
        return 0, (ranks - 1) * size
    if collective == "broadcast":
        return (ranks - 1) * size, 0
    return ranks * size, 0


def wire_bytes(collective, ranks, size):
    """Bytes that all ranks together must send to others."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) * size
    if collective == "sendrecv":
        return ranks * size
    return (ranks - 1) * size


def floor_micros(limits, case):
    """The floor of `case`: collective, ranks, transport, bytes. None if it is not known."""
    if limits is None or case["ranks"] < 2:
        return None
    shape = case["collective"], case["ranks"], case["bytes"]
    if case["transport"] == "tcp":
        # The connection was measured between two cores; more cores have several at work at once.
        if len(limits["cores"]) > 2:
            return None
        rate = max(limits["tcp_stream_gbps"], limits["tcp_duplex_gbps"]) * 1e3
        return max(limits["tcp_us"], wire_bytes(*shape) / rate)
    copy_rate, sum_rate = rates_at(limits, case["bytes"])
    copied, summed = memory_traffic(*shape)
    return max(limits["flag_us"], copied / copy_rate + summed / sum_rate)


def limits_text(limits):
    if limits is None:
        return "# no limits: host_limits could not measure here\n"
    lines = [
        f"# limits: flag between cores {limits['flag_us']:.2f} us; TCP over loopback "
        f"{limits['tcp_us']:.1f} us, {limits['tcp_stream_gbps']:.1f} GB/s one way, "
        f"{limits['tcp_duplex_gbps']:.1f} GB/s both ways",
    ]
    for label, key in (("copy", "copy_gbps"), ("c = a + b", "sum_gbps")):
        rates = ", ".join(f"{row['bytes']}: {row[key]:.0f}" for row in limits["memory"])
        lines.append(f"# {label} by {len(limits['cores'])} cores, GB/s of what is written, by bytes: {rates}")
    return "\n".join(lines) + "\n"
