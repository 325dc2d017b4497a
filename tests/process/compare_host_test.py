#!/usr/bin/env python3
"""bench/compare_host: its arithmetic, its texts, and a short run of Gyre alone.

Usage: compare_host_test.py SOURCE_FOLDER BUILD_FOLDER
"""

import doctest
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "bench"))

from compare import libraries, limits, machine, measure, results, sizes, tables  # noqa: E402

LIMITS = {
    "cores": [0, 1],
    "flag_us": 0.2,
    "tcp_us": 5.0,
    "tcp_stream_gbps": 4.0,
    "tcp_duplex_gbps": 5.0,
    "memory": [
        {"bytes": 64, "copy_gbps": 100, "sum_gbps": 50},
        {"bytes": 1 << 20, "copy_gbps": 40, "sum_gbps": 20},
    ],
}


def case(collective="all_reduce", ranks=2, transport="shm", size=1 << 20):
    return {"collective": collective, "ranks": ranks, "transport": transport, "bytes": size}


class Sizes(unittest.TestCase):
    def test_what_the_documentation_says(self):
        for module in (sizes, tables):
            self.assertEqual(doctest.testmod(module).failed, 0)

    def test_text_and_back(self):
        for text in ("1", "16", "1000", "4K", "3M", "1G"):
            self.assertEqual(sizes.size_text(sizes.parse_size(text)), text)
        for text in ("", "K", "-4", "0", "4T", "4.5K"):
            self.assertRaises(ValueError, sizes.parse_size, text)

    def test_runs_cover_every_size_once(self):
        asked = [16, 4096, 65536, 1 << 20, 1 << 24, 1 << 26, 100 << 20]
        covered = []
        for first, last, factor in sizes.geometric_runs(asked):
            while first <= last:
                covered.append(first)
                first *= factor
        self.assertEqual(covered, asked)

    def test_sizes_that_would_be_rounded_are_left_out(self):
        self.assertEqual(sizes.sizes_for("all_gather", 2, [16, 32, 48, 64]), [32, 64])
        self.assertEqual(sizes.sizes_for("all_reduce", 8, [3, 16]), [16])


class Results(unittest.TestCase):
    SAMPLES = {
        "gyre": {"plain": [10.0, 20.0, 30.0]},
        "gyre-registered": {"ncclMemAlloc": [5.0, 10.0, 15.0]},
        "one": {"tuned": [50.0, 50.0, 50.0], "ring": [20.0, 40.0, 60.0]},
        "two": {"default": [60.0, 70.0, 80.0]},
        "silent": {},
    }

    def test_each_library_counts_with_its_best_setting_and_the_best_peer_is_compared(self):
        row = results.row_of(case(), self.SAMPLES, None)
        self.assertEqual(row["libraries"]["one"]["setting"], "ring")
        self.assertEqual(row["best_peer"], "one")
        self.assertEqual(row["ratio"], {"gyre": 2.0, "gyre-registered": 4.0})
        self.assertNotIn("silent", row["libraries"])

    def test_ratio_is_of_rounds_and_not_of_medians(self):
        # Twice as fast in every round, however slow the round.
        self.assertEqual(results.ratio([2, 200, 20], [1, 100, 10]), 2)

    def test_a_reference_is_shown_but_is_no_best_peer(self):
        row = results.row_of(case(), self.SAMPLES, None, references=["one"])
        self.assertEqual((row["best_peer"], row["best_reference"]), ("two", "one"))
        self.assertAlmostEqual(row["ratio"]["gyre"], 3.5)
        self.assertEqual(row["reference_ratio"], {"gyre": 2.0, "gyre-registered": 4.0})
        line = tables.table_text([row]).splitlines()[-1]
        self.assertRegex(line, r"two \(default\) +3\.50x +7\.00x .*one \(ring\) +2\.00x +4\.00x$")
        self.assertNotIn("reference", tables.table_text([results.row_of(case(), self.SAMPLES, None)]))

    def test_without_peers_there_is_no_ratio(self):
        row = results.row_of(case(), {"gyre": {"plain": [4.0]}}, 1.0)
        self.assertEqual((row["best_peer"], row["ratio"]), (None, {}))
        self.assertIn("25%", tables.table_text([row]))

    def test_nothing_measured(self):
        row = results.row_of(case(), {"gyre": {}}, 1.0)
        self.assertIn("nothing could be measured", tables.table_text([row]))

    def test_bandwidth_and_spread(self):
        self.assertAlmostEqual(results.bus_gbps("all_reduce", 4, 1000, 1.0), 1.5)
        self.assertAlmostEqual(results.bus_gbps("all_gather", 4, 1000, 1.0), 0.75)
        self.assertEqual(results.spread([7.0]), 0.0)
        self.assertAlmostEqual(results.spread([1, 9, 10, 11, 99]), 0.2)


class Limits(unittest.TestCase):
    def test_floor_of_large_and_small_messages(self):
        # A sum of 1 MiB at 20 GB/s and a copy of it at 40.
        floor = limits.floor_micros(LIMITS, case())
        self.assertAlmostEqual(floor, (1 << 20) / 20e3 + (1 << 20) / 40e3)
        self.assertEqual(limits.floor_micros(LIMITS, case(size=64)), 0.2)

    def test_floor_over_tcp(self):
        self.assertEqual(limits.floor_micros(LIMITS, case(transport="tcp", size=64)), 5.0)
        floor = limits.floor_micros(LIMITS, case(transport="tcp"))
        self.assertAlmostEqual(floor, 2 * (1 << 20) / 5e3)

    def test_no_floor(self):
        self.assertIsNone(limits.floor_micros(None, case()))
        self.assertIsNone(limits.floor_micros(LIMITS, case(ranks=1)))

    def test_a_connection_between_two_cores_is_no_floor_for_more(self):
        many = {**LIMITS, "cores": [0, 1, 2, 3]}
        self.assertIsNone(limits.floor_micros(many, case(ranks=4, transport="tcp")))
        self.assertEqual(
            limits.floor_micros(many, case(ranks=4)), limits.floor_micros(LIMITS, case(ranks=4))
        )
        self.assertIn("by 4 cores", limits.limits_text(many))

    def test_as_many_cores_as_ranks_are_measured(self):
        cores = (machine.cores() * 2)[:3]
        found = limits.measure_limits(BUILD, cores, [64, 4096], 0.001)
        self.assertEqual(found["cores"], cores)
        self.assertTrue(all(row["sum_gbps"] > 0 for row in found["memory"]), found)
        self.assertIsNone(limits.measure_limits(BUILD, cores[:1], [64], 0.001))

    def test_the_best_of_two_measurements(self):
        worse = {**LIMITS, "flag_us": 0.9, "tcp_stream_gbps": 1.0}
        self.assertEqual(limits.best_limits(worse, LIMITS), LIMITS)
        self.assertEqual(limits.best_limits(None, LIMITS), LIMITS)


class Launches(unittest.TestCase):
    def test_wrong_elements_are_no_result(self):
        cell = {"time": 3.5, "nwrong": 0}
        good = {"size": 64, "out_of_place": cell, "in_place": {"time": 2.5, "nwrong": 0}}
        self.assertEqual(measure.times_of({"results": [good]}, "all_reduce"), [3.5])
        self.assertEqual(measure.times_of({"results": [good]}, "broadcast"), [2.5])
        bad = {**good, "out_of_place": {"time": 3.5, "nwrong": 2}}
        with self.assertRaisesRegex(measure.Failed, "2 wrong elements at 64 bytes"):
            measure.times_of({"results": [bad]}, "all_reduce")

    def test_the_reason_of_a_failure(self):
        text = "first\nno such wire\ngyre run: ending the 1 other rank\n-----\n"
        self.assertEqual(measure.last_words(text), "no such wire")
        with self.assertRaisesRegex(measure.Failed, "status 3: oh"):
            measure.run(["sh", "-c", "echo oh; exit 3"], {}, 20)
        with self.assertRaisesRegex(measure.Failed, "still running"):
            measure.run(["sleep", "60"], {}, 0.1)
        with self.assertRaisesRegex(measure.Failed, "/no/such/mpirun"):
            measure.run(["/no/such/mpirun"], {}, 20)

    def test_an_odd_report_is_no_result(self):
        row = {"size": 64, "out_of_place": {"time": 3.5, "nwrong": 0}}
        reports = ("", "{", "[]", "{}", '{"results": [{}]}', json.dumps({"results": [row]}))
        for text in (None, *reports):
            with tempfile.TemporaryDirectory() as folder, self.subTest(text):
                path = os.path.join(folder, "a.json")
                if text is not None:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                with self.assertRaises(measure.Failed):
                    measure.read_times(path, "all_reduce", [64, 128])

    def test_gyre_is_pinned_while_its_peers_are(self):
        for ranks, pinned in ((2, True), (8, False)):
            job = libraries.Job(ranks, "tcp", 2)
            found = list(libraries.gyre_series("/build", job))
            found += list(libraries.peer_series("/build", "/place", "oneccl", job, True))[1:]
            for series in found:
                self.assertEqual("--bind-to" in series.launch, pinned, series)

    def test_every_peer_has_a_series_where_it_says_so(self):
        for transport in ("shm", "tcp"):
            for ranks in (2, 8):
                job = libraries.Job(ranks, transport, 2)
                for name in libraries.PEERS:
                    found = list(libraries.peer_series("/build", "/place", name, job, True))
                    self.assertTrue(found or (name, transport) == ("gloo", "shm"))
                    labels = [series.setting for series in found]
                    self.assertEqual(len(labels), len(set(labels)))


class Machine(unittest.TestCase):
    def test_a_core_counts_once_however_many_threads_it_has(self):
        with tempfile.TemporaryDirectory() as root:
            for cpu, siblings in enumerate(("0-1", "0-1", "2,4", "3", "2,4")):
                os.makedirs(f"{root}/cpu{cpu}/topology")
                with open(f"{root}/cpu{cpu}/topology/thread_siblings_list", "w") as file:
                    file.write(siblings + "\n")
            self.assertEqual(machine.cores(range(5), root), [0, 2, 3])
            # A core of which only a later thread may be used; a CPU that sysfs does not know.
            self.assertEqual(machine.cores([1, 4, 9], root), [1, 4, 9])
        self.assertTrue(machine.cores())


# Stands for `gyre run`: runs its program for as long as the number in COUNT is above 0.
FAKE_GYRE = """#!/bin/sh
left=$(cat "$COUNT")
echo $((left - 1)) >"$COUNT"
[ "$left" -gt 0 ] && exec "$REAL" "$@"
echo no luck
exit 9
"""


class Whole(unittest.TestCase):
    def compare(self, build, *arguments, environment=None):
        command = [sys.executable, f"{SOURCE}/bench/compare_host", "--build", build, "--quick"]
        command += ["--peers", "none", "--sizes", "16,64K", "--seconds", "0.001", *arguments]
        return subprocess.run(
            command, env={**os.environ, **(environment or {})},
            capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip

    def test_a_series_that_fails_later_leaves_no_times_and_the_others_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            report, count = os.path.join(folder, "a.json"), os.path.join(folder, "count")
            os.makedirs(f"{folder}/bin")
            for name in ("all_reduce_perf", "host_limits"):
                os.symlink(f"{BUILD}/bin/{name}", f"{folder}/bin/{name}")
            with open(f"{folder}/bin/gyre", "w", encoding="utf-8") as file:
                file.write(FAKE_GYRE)
            os.chmod(f"{folder}/bin/gyre", 0o755)
            # Of two launches of each of two series the last, of gyre-registered, fails.
            with open(count, "w", encoding="utf-8") as file:
                file.write("3\n")
            environment = {"REAL": f"{BUILD}/bin/gyre", "COUNT": count}
            done = self.compare(
                folder, "--rounds", "2", "--json", report, environment=environment
            )
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("no luck", done.stdout)
            with open(report, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
            self.assertEqual([set(row["libraries"]) for row in rows], [{"gyre"}] * 2)

    def test_a_file_that_cannot_be_written_is_refused_at_once(self):
        done = self.compare(BUILD, "--json", "/no/such/folder/a.json")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("/no/such/folder/a.json", done.stderr)

    def test_a_reference_that_is_not_built_is_refused(self):
        done = self.compare(BUILD, "--place", "/nowhere", "--reference", "impi")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not built: impi", done.stderr)

    def test_gyre_alone_and_its_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            report, chart = os.path.join(folder, "a.json"), os.path.join(folder, "a.svg")
            command = [sys.executable, f"{SOURCE}/bench/compare_host", "--build", BUILD]
            command += ["--quick", "--peers", "none", "--sizes", "16,64K", "--rounds", "2"]
            command += ["--collectives", "all_reduce,all_gather", "--transport", "shm,tcp"]
            command += ["--seconds", "0.001", "--json", report]
            done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("# all_gather, 2 ranks, tcp", done.stdout)
            with open(report, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
            # 16 bytes are too few to gather from two ranks.
            self.assertEqual(len(rows), 2 * (2 + 1))
            for row in rows:
                self.assertEqual(set(row["libraries"]), set(results.OWN))
                self.assertEqual(len(row["libraries"]["gyre"]["times_us"]), 2)
            subprocess.run([f"{BUILD}/bin/gyre", "plot", report, "-o", chart], check=True)
            with open(chart, encoding="utf-8") as file:
                self.assertIn("all_gather, 2 ranks, tcp", file.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
