"""Runs the *_perf programs as users and their scripts do: tables, JSON, exit statuses.

usage: perf_test.py BIN_FOLDER FAULTY_LIBRARY [unittest arguments]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BIN = ""
FAULTY = ""
REDUCTIONS = ["all_reduce", "reduce_scatter", "reduce"]
MOVES = ["all_gather", "broadcast", "alltoall", "alltoallv", "gather", "scatter", "sendrecv",
         "hypercube"]
# Operations that nccl-tests does not check in place.
UNCHECKED_IN_PLACE = {"alltoall", "alltoallv", "sendrecv"}
ROW = re.compile(r"^ *\d+ ")
WRONG = 7


def run(program, *arguments, processes=0, env=None, expect=0):
    """The finished process of one program; arguments are one string or several."""
    command = [os.path.join(BIN, program)]
    for argument in arguments:
        command += argument.split()
    if processes:
        command = [os.path.join(BIN, "gyre"), "run", "-n", str(processes)] + command
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}, not {expect}\n"
                             f"{done.stdout}\n{done.stderr}")
    return done


def rows(done):
    return [line.split() for line in done.stdout.splitlines() if ROW.match(line)]


class Table(unittest.TestCase):
    def test_columns_and_footer(self):
        done = run("all_reduce_perf", "-b8 -e 64K -f 2 -g 4 -n 3")
        table = rows(done)
        self.assertEqual([int(row[0]) for row in table], [8 << i for i in range(14)])
        for row in table:
            self.assertEqual(len(row), 13, row)
            self.assertEqual(row[2:5], ["float", "sum", "-1"])
            self.assertEqual((row[8], row[12]), ("0", "0"))
            self.assertGreater(float(row[5]), 0)
        size, time, algbw, busbw = (float(table[-1][i]) for i in (0, 5, 6, 7))
        self.assertAlmostEqual(algbw, size / time / 1e3, delta=0.011 + algbw * 0.01)
        self.assertAlmostEqual(busbw, algbw * 2 * 3 / 4, delta=0.02)
        self.assertIn("# Collective test starting: all_reduce_perf", done.stdout)
        self.assertEqual(len(re.findall(r"#  Rank +\d+ Group +0 Pid", done.stdout)), 4)
        self.assertRegex(done.stdout, r"# Out of bounds values : 0 OK")
        self.assertRegex(done.stdout, r"# Avg bus bandwidth    : [0-9.e+-]+ ")

    def test_unchecked_prints_na(self):
        for row in rows(run("all_reduce_perf", "-b 1K -e 1K -g 2 -c 0 -n 2")):
            self.assertEqual((row[8], row[12]), ("N/A", "N/A"))

    def test_step_and_cycles(self):
        table = rows(run("all_gather_perf", "-b 1K -e 3K -i 1K -g 2 -N 2 -n 2"))
        self.assertEqual([int(row[0]) for row in table], [1024, 2048, 3072] * 2)

    def test_iteration_statistics_and_timestamps(self):
        done = run("all_reduce_perf", "-b 1K -e 1K -g 2 -n 8 -I 1 -K 2 -S 1")
        self.assertIn("i_p99", done.stdout)
        row = rows(done)[0]
        self.assertEqual(len(row), 5 + 2 * 8 + 2)
        least, most, p99 = (float(text) for text in row[9:12])
        self.assertTrue(0 < least <= p99 <= most, row)
        self.assertRegex(" ".join(row[-2:]), r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")


    def test_warm_ups_are_over_when_the_clock_starts(self):
        # With the bug, 8 bytes took as long as the large warm-ups that were still under way.
        done = run("all_reduce_perf", "-b 8 -e 16M -f 2097152 -g 2 -c 0 -n 2 -w 5 -z 3")
        small, large = (float(row[5]) for row in rows(done))
        self.assertLess(small, large)


class Operations(unittest.TestCase):
    def check_rows(self, program, done, types, labels):
        table = rows(done)
        self.assertEqual(len({row[2] for row in table}), types)
        self.assertEqual({row[3] for row in table}, labels)
        in_place = "N/A" if program in UNCHECKED_IN_PLACE else "0"
        for row in table:
            self.assertEqual((row[8], row[12]), ("0", in_place), row)

    def test_every_type_and_operation(self):
        for program in REDUCTIONS:
            with self.subTest(program):
                done = run(program + "_perf", "-b 1008 -e 1008 -g 3 -n 1 -d all -o all")
                self.check_rows(program, done, 12, {"sum", "prod", "max", "min", "avg", "mulsum"})

    def test_every_type_moves(self):
        for program in MOVES:
            if program == "hypercube":  # its empty operation name has no column to split
                continue
            with self.subTest(program):
                done = run(program + "_perf", "-b 4080 -e 4080 -g 3 -n 1 -d all")
                label = "sum" if program == "sendrecv" else "none"
                self.check_rows(program, done, 12, {label})

    def test_sendrecv_names_operations_as_nccl_tests_does(self):
        for choice, labels in (("max", ["max"]), ("all", ["sum", "prod", "max", "min", "avg", "mulsum"])):
            table = rows(run("sendrecv_perf", "-b 4K -e 4K -g 2 -n 1 -o", choice))
            self.assertEqual([row[3] for row in table], labels)
            self.assertEqual({row[8] for row in table}, {"0"})

    def test_hypercube_needs_a_power_of_two(self):
        done = run("hypercube_perf", "-b 4K -e 8K -f 2 -g 4 -n 2")
        self.assertEqual([line.split()[7] for line in done.stdout.splitlines() if ROW.match(line)],
                         ["0", "0"])
        self.assertIn("not a power of 2", run("hypercube_perf", "-b 4K -e 4K -g 3").stdout)

    def test_all_roots_and_unaligned(self):
        for program in ["broadcast", "reduce", "gather", "scatter"]:
            with self.subTest(program):
                table = rows(run(program + "_perf", "-b 2K -e 2K -g 3 -n 1 -r all -u 1"))
                self.assertEqual([row[4] for row in table], ["0", "1", "2"])
                self.assertTrue(all(row[8] == row[12] == "0" for row in table), table)

    def test_ways_to_run(self):
        for flags in ["-t 2 -g 2", "-t 3 -p 1", "-g 2 -m 4", "-g 2 -z 1", "-t 2 -z 2",
                      "-g 2 -z 3 -I 1", "-g 2 -y 1", "-g 2 -R 1", "-g 2 -R 2", "-g 2 -C 1 -a 3",
                      "-g 2 -T 60", "-g 2 -M 1", "-g 2 -x 0", "-g 1"]:
            with self.subTest(flags):
                table = rows(run("all_reduce_perf", "-b 4K -e 64K -f 4 -n 3 -o max", flags))
                self.assertEqual(len(table), 3)
                self.assertTrue(all(row[8] == "0" for row in table), table)


def memory_use(done):
    """Bytes that -M reported, by name."""
    units = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
    line = re.search(r"Host memory usage.*", done.stdout)[0]
    found = re.findall(r"([A-Z][\w-]+) +(\S+) ([KMG]?B)", line)
    return {name: float(number) * units[unit] for name, number, unit in found}


class Memory(unittest.TestCase):
    def test_of_a_rank(self):
        use = memory_use(run("all_reduce_perf", "-b 4M -e 4M -n 3 -M 1 --memory_kind plain",
                             processes=8))
        self.assertGreater(use["Initialization"] + use["Collective"], 0, use)
        self.assertLess(use["Initialization"] + use["Collective"], 8 << 20, use)

    def test_communicators_count_as_initialization_whoever_makes_them(self):
        uses = [memory_use(run("all_reduce_perf", "-b 4K -e 4K -n 2 -M 1 -t 4 -p", parallel))
                for parallel in "01"]
        one_by_one, at_once = (use["Initialization"] for use in uses)
        self.assertGreater(at_once, one_by_one / 4, uses)

    def test_buffers_are_what_was_taken_for_them(self):
        # The result of a rank, and so the expected one, is a quarter of the buffers.
        use = memory_use(run("reduce_scatter_perf", "-b 32M -e 32M -n 2 -w 0 -M 1 -g 4"))
        self.assertGreater(use["User-Allocated"], 4 * (2 * 32 << 20) * 0.99, use)
        self.assertLess(use["User-Allocated"], 4 * (3 * 32 << 20) * 1.05, use)
        self.assertGreater(use["Collective"], 0, use)
        parts = sum(use[name] for name in ("Initialization", "User-Allocated", "Collective"))
        self.assertAlmostEqual(use["Total"], parts, delta=parts / 50)


class Processes(unittest.TestCase):
    def test_four_processes(self):
        done = run("all_reduce_perf", "-b 1K -e 1M -f 4 -n 3", processes=4)
        self.assertEqual(len(rows(done)), 6)  # only rank 0 prints
        self.assertEqual(len(re.findall(r"#  Rank +\d", done.stdout)), 4)
        self.assertTrue(all(row[8] == row[12] == "0" for row in rows(done)))

    def test_processes_times_threads_times_ranks(self):
        done = run("alltoall_perf", "-b 64K -e 64K -n 2 -t 2 -g 2", processes=2)
        ranks = [int(rank) for rank in re.findall(r"#  Rank +(\d+)", done.stdout)]
        self.assertEqual(ranks, list(range(8)))

    def test_split(self):
        done = run("all_gather_perf", "-b 8K -e 8K -n 2", processes=4,
                   env={"NCCL_TESTS_SPLIT": "MOD 2"})
        lines = re.findall(r"#  Rank +(\d+) Group +(\d+)", done.stdout)
        self.assertEqual(lines, [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")])
        self.assertEqual(rows(done)[0][1], "1024")  # 8 KiB of floats over 2 ranks


class Alltoallv(unittest.TestCase):
    def test_matrix_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "traffic")
            with open(path, "w", encoding="ascii") as file:
                file.write("0 1600 32\n160 0 0\n16 48 4096\n")
            env = {"NCCL_TESTS_ALLTOALLV_MATRIX_FILE": path,
                   "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY": "1"}
            done = run("alltoallv_perf", "-b 8K -e 8K -g 3 -n 2", env=env)
            self.assertEqual(rows(done)[0][0], "4160")  # what rank 2 sends
            self.assertIn("rank=0 send_bytes=1632 recv_bytes=176", done.stdout)
            self.assertEqual(rows(done)[0][8], "0")
            run("alltoallv_perf", "-b 1K -e 1K -g 3", env=env, expect=1)
            run("alltoallv_perf", "-b 8K -e 8K -g 4", env=env, expect=1)


class Json(unittest.TestCase):
    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            flags = f"-b 1K -e 4K -f 2 -g 2 -n 4 -I 1 -J {path}"
            run("all_reduce_perf", flags)
            run("all_reduce_perf", flags)
            self.assertEqual(sorted(os.listdir(folder)), ["out.json", "out.json.0"])
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        self.assertEqual(report["version"], 3)
        self.assertEqual(report["config"]["step_factor"], 2)
        self.assertEqual(len(report["config"]["devices"]), 2)
        self.assertLess({"rank", "group", "pid", "hostname", "device", "device_hex"},
                        set(report["config"]["devices"][0]))
        self.assertEqual(report["out_of_bounds"], {"count": 0, "okay": "true"})
        self.assertEqual(report["average_bus_bandwidth"]["okay"], "unchecked")
        self.assertEqual([row["size"] for row in report["results"]], [1024, 2048, 4096])
        for row in report["results"]:
            self.assertEqual(row["root"].strip(), "-1")
            for placement in ("out_of_place", "in_place"):
                self.assertEqual(set(row[placement]), {"time", "alg_bw", "bus_bw", "nwrong"})
                self.assertEqual(row[placement]["nwrong"], 0)
                self.assertEqual(len(row[placement + "_per_iter"]["times_us"]), 4)
        self.assertTrue(report["start_time"] and report["end_time"] and report["env"])


class Status(unittest.TestCase):
    def test_usage_errors(self):
        for flags in ["-Q", "--nonsense 1", "-b 8X", "-G 1", "-D 1", "-o xor"]:
            with self.subTest(flags):
                done = run("all_reduce_perf", flags, expect=6)
                self.assertIn("USAGE", done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertIn("--minbytes", run("all_reduce_perf", "--help").stdout)
        run("broadcast_perf", "-b 8 -e 8 -g 2 -r 2", expect=6)

    def test_least_bandwidth(self):
        flags = "-b 1K -e 1K -g 2 -n 2"
        run("all_reduce_perf", flags, env={"NCCL_TESTS_MIN_BW": "1e-9"})
        done = run("all_reduce_perf", flags, env={"NCCL_TESTS_MIN_BW": "1e9"}, expect=WRONG)
        self.assertRegex(done.stdout, r"# Avg bus bandwidth .* FAILED")

    def test_wrong_elements_are_counted(self):
        done = run("all_reduce_perf", "-b 1K -e 1K -g 1 -t 2 -y 1 -n 2 --lib", FAULTY,
                   env={"FAULTY_NCCL": "corrupt"}, expect=WRONG)
        row = rows(done)[0]
        self.assertEqual((row[8], row[12]), ("1", "1"))
        self.assertRegex(done.stdout, r"# Out of bounds values : 2 FAILED")

    def test_other_library(self):
        done = run("all_reduce_perf", "-b 1K -e 1K -g 2 -n 2 --lib", FAULTY)
        self.assertEqual(rows(done)[0][8], "0")
        missing = run("all_reduce_perf", "--lib /nonexistent/libnccl.so.2", expect=3)
        self.assertIn("/nonexistent/libnccl.so.2", missing.stderr)

    def test_library_errors_name_the_call(self):
        done = run("all_reduce_perf", "-b 1K -e 1K -t 2 -y 1 --lib", FAULTY,
                   env={"FAULTY_NCCL": "error"}, expect=3)
        self.assertIn("ncclAllReduce failed", done.stderr)

    def test_timeout(self):
        done = run("all_reduce_perf", "-b 1K -e 1K -t 2 -y 1 -T 1 --lib", FAULTY,
                   env={"FAULTY_NCCL": "hang"}, expect=4)
        self.assertIn("Test timeout (1s)", done.stderr)


if __name__ == "__main__":
    BIN, FAULTY = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
