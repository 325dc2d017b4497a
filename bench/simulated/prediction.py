"""What `gyre simulate` says of a call on a calibrated path."""

import json
import subprocess

from .calibration import interpolate

NO_TIME = "1000000GB/s"


def seconds_text(seconds):
    return f"{seconds * 1e9:.3f}ns"


def rate_text(per_byte):
    """The rate at which a byte takes so long.

    >>> rate_text(1e-9)
    '1000000000.000B/s'
    """
    return f"{1 / per_byte:.3f}B/s" if per_byte > 0 else NO_TIME


def machine_arguments(path, found, ranks, size, cores):
    """A host of `ranks` ranks. Over shared memory, ranks copy, and share the cores; over a shaped
    link, messages share the link."""
    copy, reduce = interpolate(found.copy, size), interpolate(found.reduce, size)
    arguments = [
        "--ranks-per-host", str(ranks), "--shared", "--cores", str(cores),
        "--local-alpha", seconds_text(found.alpha[ranks]),
        "--reduce-bandwidth", rate_text(reduce),
    ]  # fmt: skip
    if path.shares_a_link:
        # Two messages at a time were measured.
        arguments += ["--local-bandwidth", rate_text(copy / 2), "--memory-bandwidth",
                      rate_text(copy / 2)]  # fmt: skip
    else:
        # A sendrecv reads and writes twice: into the slot, and out of it. A step with one operand and
        # two destinations reads once.
        arguments += ["--local-bandwidth", NO_TIME]
        for what in ("read", "send", "copy"):
            arguments += [f"--{what}-bandwidth", rate_text(copy / 4)]
    return arguments


def predict(build, path, found, case, cores):
    """Seconds of one call."""
    command = [
        f"{build}/bin/gyre", "simulate", case["collective"], "--algorithm", case["algorithm"],
        "-n", str(case["ranks"]), "--sizes", str(case["bytes"]), "--json",
        *machine_arguments(path, found, case["ranks"], case["bytes"], cores),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"status {done.returncode}")
    return found.call + json.loads(done.stdout)["rows"][0]["time_us"] * 1e-6
