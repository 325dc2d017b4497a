#!/usr/bin/env python3
"""Data-parallel training is the same training: 1, 2 and 4 ranks, one global batch.

Usage: trainer_agreement_test.py PATH_OF_GYRE PATH_OF_GYRE_TRAIN
"""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import unittest

GYRE, TRAIN = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
LIMIT = 100  # seconds for a run: passing it is a failure
STEPS = 12
WORLDS = (1, 2, 4)
# Sums in another order differ in the last bits of fp32: 5e-7 was measured over 40 steps.
TOLERANCE = 2e-5
SEED = 11


def write_text(path):
    """Some words in random order: enough to learn something from, on any machine."""
    rng = random.Random(SEED)
    words = "the ring turns and every rank adds its part until all hold the same sum".split()
    with open(path, "w", encoding="ascii") as file:
        file.write(" ".join(rng.choice(words) for _ in range(6000)))


class Agreement(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.text = os.path.join(self.folder, "text")
        write_text(self.text)

    def run_job(self, ranks, *arguments, environment=None):
        command = [GYRE, "run", "-n", str(ranks), TRAIN, "--data", self.text, "--batch", "8"]
        command += ["--layers", "2", "--heads", "2", "--width", "32", "--context", "16"]
        command += ["--warmup", "4", "--bucket-mb", "0.02", *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",  # a sample is bytes
            timeout=LIMIT,
            check=False,
            env={**os.environ, **(environment or {})},
        )

    def train(self, ranks, *arguments, environment=None):
        log = os.path.join(self.folder, f"log{ranks}.json")
        done = self.run_job(
            ranks,
            *("--steps", str(STEPS), "--sample", "0", "--log-json", log),
            *arguments,
            environment=environment,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(log, encoding="ascii") as file:
            *steps, end = (json.loads(line) for line in file)
        self.assertEqual([entry["step"] for entry in steps], list(range(1, STEPS + 1)))
        return [entry["loss"] for entry in steps], end["parameters"]

    def test_losses_agree_within_the_tolerance(self):
        losses = {world: self.train(world)[0] for world in WORLDS}
        self.assertLess(losses[1][-1], 0.9 * losses[1][0], "nothing was learnt")
        for world in WORLDS[1:]:
            for step, (one, other) in enumerate(zip(losses[1], losses[world]), start=1):
                self.assertAlmostEqual(one, other, delta=TOLERANCE, msg=f"{world} ranks, step {step}")

    def test_reproducible_runs_are_equal_to_the_last_bit(self):
        runs = {
            world: self.train(world, environment={"GYRE_REPRODUCIBLE": "1"}) for world in WORLDS
        }
        for world in WORLDS[1:]:
            self.assertEqual(runs[world][0], runs[1][0], f"losses of {world} ranks")
            self.assertEqual(runs[world][1], runs[1][1], f"parameters of {world} ranks")

    def test_progress_line_and_sample(self):
        done = self.run_job(2, "--steps", "4", "--log-every", "2", "--sample", "40")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for step in ("2/4", "4/4"):
            self.assertRegex(
                done.stdout,
                rf"step +{step}  loss [0-9.]+  lr [0-9.e-]+ +[0-9]+ tokens/s  communication "
                r"[0-9.]+ ms/step \([0-9]+%\), waited for [0-9.]+ ms \([0-9]+%\)",
            )
        self.assertEqual(done.stdout.count("--- sample\n"), 1, "rank 0 alone writes")

    def test_nobody_waits_while_rank_0_writes_its_sample(self):
        # The sample takes longer than a barrier of the processes does at most.
        done = self.run_job(
            2, "--steps", "2", "--sample", "30000", environment={"GYRE_INIT_TIMEOUT": "2"}
        )
        self.assertEqual(done.returncode, 0, done.stdout[-200:] + done.stderr)
        self.assertIn("--- sample", done.stdout)

    def test_time_limit_ends_all_ranks(self):
        done = self.run_job(2, "--steps", "100000000", "--seconds", "1", "--sample", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_command_of_the_readme_trains(self):
        readme = pathlib.Path(__file__).resolve().parents[2] / "README.md"
        found = re.search(r"`gyre run -n (\d+) gyre-train ([^`]*)`", readme.read_text(encoding="utf-8"))
        self.assertIsNotNone(found, "the README trains nothing")
        words = found[2].split()
        words[words.index("--data") + 1] = self.text
        words[words.index("--seconds") + 1] = "1"
        done = subprocess.run(
            [GYRE, "run", "-n", found[1], TRAIN, *words, "--sample", "0"],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_bad_requests_are_named_before_anybody_waits(self):
        done = self.run_job(3, "--steps", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--batch 8 cannot be divided among 3 ranks", done.stderr)
        missing = subprocess.run(
            [TRAIN, "--data", "/nonexistent"], capture_output=True, text=True, timeout=LIMIT, check=False
        )
        self.assertEqual(missing.returncode, 1)
        self.assertIn("/nonexistent", missing.stderr)

    def test_survivors_of_a_killed_rank_name_it(self):
        command = [GYRE, "run", "-n", "3", "--keep-going", "sh", "-c"]
        command += ['echo "pid $RANK $$"; exec "$@"', "sh", TRAIN, "--data", self.text]
        command += ["--batch", "6", "--layers", "1", "--heads", "1", "--width", "16"]
        command += ["--context", "8", "--steps", "100000000", "--log-every", "1"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as job:
            self.addCleanup(job.kill)
            pid = None
            trains = False
            for line in job.stdout:
                if line.startswith("pid 1 "):
                    pid = int(line.split()[2])
                trains = trains or line.startswith("step ")
                if pid and trains:
                    break
            os.kill(pid, signal.SIGKILL)
            _, errors = job.communicate(timeout=LIMIT)
        complaints = [line for line in errors.splitlines() if line.startswith("gyre-train:")]
        self.assertEqual(len(complaints), 2, errors)
        for complaint in complaints:
            self.assertIn("rank 1", complaint)


if __name__ == "__main__":
    signal.alarm(5 * LIMIT)
    unittest.main(verbosity=2)
