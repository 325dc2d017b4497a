#!/usr/bin/env python3
"""gyre tune on real ranks, and what GYRE_TUNING_FILE and differing machines make of the plan."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
GYRE = f"{BUILD}/bin/gyre"
PERF = f"{BUILD}/bin/all_reduce_perf"
SLOW_NIC = """<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="3" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <nic><net name="eth0" dev="0" speed="100" port="0" guid="0x1" maxconn="1" gdr="0"/></nic>
  </cpu>
</system>
"""


def run(*command, **environment):
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def job(shell, **environment):
    """Four ranks of all_reduce_perf; `shell` runs in each before it."""
    return run(
        GYRE, "run", "-n", "4", "sh", "-c",
        f"{shell}\nexec {PERF} -b 64 -e 64K -f 32 -n 2 -w 1 --device host",
        NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="TUNING", **environment,
    )  # fmt: skip


def plans(result):
    lines = (result.stdout + result.stderr).splitlines()
    return [line.split("plan of 4 ranks: ")[1] for line in lines if "plan of 4 ranks: all_red" in line]


class Tuning(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "table.txt")

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def any_order(self, result):
        (plan,) = plans(result)
        return plan.removeprefix("all_reduce: ").split(";")[0]

    def test_measures_and_keeps_what_was_there(self):
        self.write("gyre-tuning 1\nall_reduce 4 4 memory 64 star - 1\n")
        result = run(GYRE, "tune", "-n", "2", "-c", "broadcast", "-b", "64", "-e", "4K", "-f", "64",
                     "--rounds", "1", "--seconds", "0.001", "-o", self.file, "--json")  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(result.stdout)["rows"]
        self.assertEqual([row["bytes"] for row in rows], [64, 4096])
        with open(self.file, encoding="utf-8") as file:
            table = file.read()
        self.assertIn("all_reduce 4 4 memory 64 star", table)
        for schedule in ("ring", "binomial", "double_tree", "direct"):
            self.assertIn(f"broadcast 2 2 memory 64 {schedule} -", table)

    def test_an_interrupt_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [GYRE, "tune", "-n", "2", "-c", "all_reduce", "-o", self.file],
                env={**os.environ, "TMPDIR": folder},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while not os.listdir(folder):
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), -signal.SIGINT)
            self.assertEqual(os.listdir(folder), [])
        self.assertFalse(os.path.exists(self.file))

    def test_bad_options_are_named(self):
        result = run(GYRE, "tune", "-n", "2", "-c", "broadkast", "-o", self.file)
        self.assertEqual(result.returncode, 2)
        self.assertIn('"broadkast" is no collective', result.stderr)
        for options in (("-n", "3,1"), ("-n", "2", "--seconds", "nan")):
            result = run(GYRE, "tune", "-o", self.file, *options)
            self.assertEqual(result.returncode, 2, result.stderr)
        result = run(GYRE, "tune", "-n", "2", "-o", "/nowhere/x")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nowhere/x", result.stderr)
        result = run(GYRE, "tune", "-n", "2", "--programs", "/nowhere", "-c", "gather",
                     "--rounds", "1", "-o", self.file)  # fmt: skip
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere/gather_perf", result.stderr)

    def test_the_table_decides_on_rank_0_for_all(self):
        self.write("gyre-tuning 1\nall_reduce 4 4 memory 64 star - 1\n"
                   "all_reduce 4 4 memory 64K star - 1\n")  # fmt: skip
        result = job(f"[ $RANK = 0 ] && export GYRE_TUNING_FILE={self.file}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.any_order(result), "star")
        result = job(f"[ $RANK = 1 ] && export GYRE_TUNING_FILE={self.file}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(self.any_order(result), "star")

    def test_a_bad_table_is_named_to_all(self):
        self.write("gyre-tuning 1\nall_reduce 4\n")
        result = job(f"[ $RANK = 0 ] && export GYRE_TUNING_FILE={self.file}")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"{self.file}, line 2: a row has 8 fields", result.stdout + result.stderr)

    def test_one_machine_that_looks_different(self):
        self.write(SLOW_NIC)
        for rank in (0, 2):
            result = job(f"[ $RANK = {rank} ] && export NCCL_TOPO_FILE={self.file}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(plans(result)), 1)
        # Two hosts, one of them with a slow NIC: one plan, and right results.
        result = job(
            f"if [ $RANK -ge 2 ]; then export NCCL_HOSTID=b NCCL_TOPO_FILE={self.file}; "
            "else export NCCL_HOSTID=a; fi"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(plans(result)), 1)

    def test_lists_differ_on_no_rank(self):
        result = job("[ $RANK = 1 ] && export NCCL_ALGO=Tree")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("NCCL_ALGO", result.stdout + result.stderr)
        result = job("", NCCL_ALGO="Tree", NCCL_PROTO="Simple", NCCL_MAX_NCHANNELS="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("tree", plans(result)[0])


if __name__ == "__main__":
    unittest.main()
