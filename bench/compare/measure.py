"""One launch of a *_perf program, and what it measured."""

import json
import os
import signal
import subprocess
import tempfile

from .sizes import geometric_runs

# Of a broadcast only the in-place form is one operation in every library: out of place, the root
# copies its own data as well, which others leave to the program.
COLUMN = {"broadcast": "in_place"}
STOP_AFTER = 20  # seconds between the rows' own time and giving up


class Failed(Exception):
    """Why a launch gave no times."""


def times_of(report, collective):
    """Microseconds of each row of a program's JSON; wrong results count as failure."""
    times = []
    for row in report["results"]:
        cell = row[COLUMN.get(collective, "out_of_place")]
        if cell["nwrong"]:
            raise Failed(f"{cell['nwrong']:.0f} wrong elements at {row['size']} bytes")
        times.append(cell["time"])
    return times


def last_words(text):
    """The line that most likely says why: the last that is neither decoration nor a launcher's."""
    lines = [line.strip() for line in text.splitlines() if any(map(str.isalnum, line))]
    own = [line for line in lines if not line.startswith("gyre run:")]
    return (own or lines or ["it said nothing"])[-1]


def end(process):
    """Asks first: launchers whose ranks have sessions of their own end them only when asked."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
            process.wait(timeout=5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def read_times(path, collective, asked):
    """{bytes: microseconds} of the report of one program. An odd one is its library's failure, and
    must not end the comparison of the others."""
    try:
        with open(path, encoding="utf-8") as file:
            times = times_of(json.load(file), collective)
    except OSError:
        raise Failed("it ended well without a report") from None
    except (ValueError, LookupError, TypeError) as error:
        raise Failed(f"its report is none of a *_perf program: {error!r}") from None
    if len(times) != len(asked):
        raise Failed(f"it measured {len(times)} sizes instead of {len(asked)}")
    return dict(zip(asked, times))


def start(command, environment):
    try:
        return subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"cannot start {command[0]}: {error.strerror}") from None


def run(command, environment, limit):
    """Runs to the end or `limit` seconds; whatever it started ends with it."""
    with start(command, environment) as process:
        try:
            text, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise Failed(f"still running after {limit:g} s") from None
        finally:
            end(process)
    if process.returncode != 0:
        raise Failed(f"status {process.returncode}: {last_words(text)}")


def measure(series, build, collective, sizes, seconds):
    """{bytes: microseconds} of one library over `sizes`, each timed for about `seconds`."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for index, (first, last, factor) in enumerate(geometric_runs(sizes)):
            report = os.path.join(folder, f"{index}.json")
            asked = [size for size in sizes if first <= size <= last]
            command = [
                *series.launch, f"{build}/bin/{collective}_perf", *series.arguments,
                "-b", str(first), "-e", str(last), "-f", str(factor),
                "-y", "1", "-a", "3", "-n", "2", "-w", "2",
                "--seconds", str(seconds), "--device", "host", "-J", report,
            ]  # fmt: skip
            run(command, series.environment, STOP_AFTER + 12 * seconds * len(asked))
            times.update(read_times(report, collective, asked))
    return times
