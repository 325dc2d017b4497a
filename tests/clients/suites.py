"""Suites of cases that several processes (worker.py) run together: what the parent makes of what they tell."""

import os
import tempfile

from harness import one_line, status_text

WORST_WORLDS = 4  # a suite that breaks so many worlds is given up
START_LIMIT = 180  # importing a framework and init, of several processes on few cores


class Progress:
    """What the ranks of a world have said so far; each case is told once, when all ranks have finished it."""

    WORDS = ("ok", "skipped", "wrong")

    def __init__(self, folder, size, tell):
        self.paths = [f"{folder}/report{rank}" for rank in range(size)]
        self.tell = tell
        self.told = set()
        self.results = [{} for _ in self.paths]
        self.begun = [[] for _ in self.paths]

    def read(self):
        """Reads on, and gives a number that grows with news."""
        for rank, path in enumerate(self.paths):
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as file:
                lines = [line.rstrip("\n").split("\t") for line in file if line.endswith("\n")]
            self.begun[rank] = [case for word, case, _ in lines if word == "begin"]
            self.results[rank] = {case: (word, text) for word, case, text in lines if word != "begin"}
        for case in self.begun[0]:
            results = [ranks.get(case) for ranks in self.results]
            if case not in self.told and all(result and result[0] in self.WORDS for result in results):
                self.told.add(case)
                self.tell(case, results)
        return sum(map(len, self.begun)) + sum(map(len, self.results))

    def unfinished(self):
        """The case at which the world stopped."""
        for case in self.begun[0] or ["start"]:
            if case not in self.told:
                return case
        return "end"

    def text_of(self, case):
        texts = [f"rank {rank}: {results[case][1]};" for rank, results in enumerate(self.results)
                 if case in results and results[case][0] not in self.WORDS]
        return one_line(" ".join(texts), 200)


def run_suite(report, prefix, cases, size, begin, limit):
    """All cases, in as many worlds as it takes: the cases behind one that breaks its world get a fresh one.

    `begin(cases, folder)` starts a world of `size` processes, and `limit` bounds the time without news.
    """
    remaining = list(cases)
    for _ in range(WORST_WORLDS):
        if not remaining:
            return
        with tempfile.TemporaryDirectory() as folder:
            remaining = run_world(report, prefix, remaining, Progress(folder, size, judge(report, prefix)),
                                  begin(remaining, folder), limit)
    for case in remaining:
        report.skipped(f"{prefix}/{case}", f"{WORST_WORLDS} worlds broke before")


def run_world(report, prefix, cases, said, begun, limit):
    """One world. Gives the cases that are left for another."""
    with begun as world:
        why = world.wait(limit, said.read, START_LIMIT)
        said.read()
        statuses = world.statuses()
        world.end()
        if not why and not any(statuses):
            return []
        state = why or "ended with " + ", ".join(map(status_text, statuses))
        case = said.unfinished()
        report.failed(f"{prefix}/{case}", f"{said.text_of(case)} {state}")
        report.detail(world.outputs())
    if case == "start":
        for other in cases:
            report.skipped(f"{prefix}/{other}", "its world did not start")
        return []
    return cases[cases.index(case) + 1 :] if case in cases else []


def judge(report, prefix):
    """Tells the report of one case, from what all processes say."""

    def tell(case, results):
        name, words = f"{prefix}/{case}", [word for word, _ in results]
        wrong = [f"rank {rank}: {text}" for rank, (word, text) in enumerate(results) if word == "wrong"]
        if wrong:
            report.failed(name, "; ".join(wrong))
        elif "skipped" in words:
            report.skipped(name, results[words.index("skipped")][1])
        else:
            report.ok(name, results[0][1])

    return tell
