"""A rank's process: runs named cases one after another and tells the parent how each went.

A wrong value lets the world go on; an exception ends it, for the ranks may no longer agree on what comes next, and the
parent gives the remaining cases a fresh world.

What is called a rank here has start(), synchronize() and end(), and lists what is wrong in `problems`; a `note` goes
into the report.
"""

import argparse
import os
import sys
import time
import traceback

from harness import complaint_about_libraries

BROKEN = 3  # the exit status of a rank that left its world


class CaseSkipped(Exception):
    """This case cannot run here; the text says why."""


class Reporter:
    """A line for each case begun and finished.

    Words: begin; then ok, skipped, wrong (a value; the world may go on) or broken (an exception; it may not).
    """

    def __init__(self, path):
        self.file = open(path, "a", buffering=1, encoding="utf-8")

    def say(self, word, name, text=""):
        self.file.write(f"{word}\t{name}\t{' '.join(str(text).split())}\n")


def worker_arguments():
    """A parser of the arguments that all workers have."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--folder", required=True, help="of this world: reports, and files to meet at")
    parser.add_argument("--library", required=True, help="that the calls must reach; nothing in a rehearsal")
    return parser


def run_ranks(options, rank, cases, may_go_on=lambda name, word: word != "broken"):
    """Starts, runs the cases that the options name, and ends."""

    def start(rank):
        rank.start()
        why = options.library and complaint_about_libraries(options.library)
        if why:
            raise RuntimeError(why)

    reporter = Reporter(f"{options.folder}/report{options.rank}")
    parts = [(name, cases[name]) for name in options.cases.split(",")]
    for name, function in [("start", start), *parts, ("end", lambda rank: rank.end())]:
        reporter.say("begin", name)
        begun = time.monotonic()
        word, text = run_case(rank, name, function)
        seconds = f"{time.monotonic() - begun:.2f} s"
        reporter.say(word, name, f"{seconds}, {text}" if word == "ok" and text else text or seconds)
        if not may_go_on(name, word):
            sys.stdout.flush()
            sys.stderr.flush()
            # Without destructors: they could wait for the other ranks.
            os._exit(BROKEN)


def run_case(rank, name, function):
    """How the case went: (word, text)."""
    rank.problems, rank.note = [], ""
    try:
        function(rank)
        rank.synchronize()
    except CaseSkipped as why:
        return "skipped", why
    except Exception:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
        return "broken", traceback.format_exc().strip().splitlines()[-1]
    for problem in rank.problems:
        print(f"{name}: {problem}", flush=True)
    if rank.problems:
        return "wrong", rank.problems[0] + (f" and {len(rank.problems) - 1} more" if rank.problems[1:] else "")
    return "ok", rank.note
