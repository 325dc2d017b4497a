#!/usr/bin/env python3
"""How long 64 processes of one machine take from the moment when the last one has entered init until
all are ready. Usage: init_time_test.py GYRE INIT_RANK [RANKS...]"""

import subprocess
import sys

LIMIT_S = 1.0
RANKS = 64
# Other programs on the machine can only lengthen it.
TRIES = 5


def init_time(gyre, program, ranks):
    done = subprocess.run(
        [gyre, "run", "-n", str(ranks), "--timeout", "60", program],
        capture_output=True, text=True, timeout=90,
    )
    times = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(times) != ranks:
        sys.exit(f"{len(times)} of {ranks} ranks ended well: {done.stderr}")
    last_entered = max(entered for entered, _ in times)
    return max(ready for _, ready in times) - last_entered


def shortest(gyre, program, ranks):
    times = []
    while len(times) < TRIES and (not times or min(times) >= LIMIT_S):
        times.append(init_time(gyre, program, ranks))
    shown = ", ".join(f"{seconds:.3f}" for seconds in times)
    print(f"{ranks} ranks are ready {shown} s after the last one came", flush=True)
    return min(times)


def main():
    gyre, program, *counts = sys.argv[1:]
    slow = [
        ranks for ranks in map(int, counts or [RANKS])
        if shortest(gyre, program, ranks) >= LIMIT_S
    ]
    sys.exit(f"more than {LIMIT_S} s" if slow else 0)


if __name__ == "__main__":
    main()
