#!/usr/bin/env python3
"""That the checks find what they are for. Usage: check_tools_test.py ROOT_OF_THE_TREE"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

ROOT = os.path.abspath(sys.argv.pop(1))
LIMIT = 60

GTEST = """[==========] Running 4 tests from 1 test suite.
[ RUN      ] Suite.Good
[       OK ] Suite.Good (0 ms)
[ RUN      ] Worlds/Suite.Param/2
x.cc:3: Failure
[  FAILED  ] Worlds/Suite.Param/2, where GetParam() = (3, "a b") (12 ms)
[ RUN      ] Suite.Away
x.cc:9: Skipped
needs two network interfaces

[  SKIPPED ] Suite.Away (0 ms)
[ RUN      ] Suite.Last
[       OK ] Suite.Last (1 ms)
[==========] 4 tests ran. (13 ms total)
[  PASSED  ] 2 tests.
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Worlds/Suite.Param/2, where GetParam() = (3, "a b")
"""
UNITTEST = """test_a (__main__.Case.test_a) ... ok
test_b (__main__.Case.test_b) ... skipped 'no such machine'
test_c (__main__.Case.test_c) ... ok
----
Ran 3 tests in 0.1s
"""


def junit(*tests):
    cases = "".join(
        f'<testcase name="{name}" status="{status.split(":")[0]}">'
        f'<skipped message="{status.partition(":")[2]}"/>'
        f"<system-out>{escape(output)}</system-out></testcase>"
        for name, status, output in tests
    )
    return f"<testsuite>{cases}</testsuite>"


class CountCases(unittest.TestCase):
    def count(self, *tests):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(junit(*tests))
            file.flush()
            result = subprocess.run(
                [f"{ROOT}/tools/count_cases", file.name],
                capture_output=True, text=True, timeout=LIMIT, check=True,
            )
        *said, totals = result.stdout.splitlines()
        return totals, "\n".join(said)

    def test_googletest_cases(self):
        totals, said = self.count(("suite", "fail", GTEST))
        self.assertEqual(totals, "2 1 1")
        self.assertIn("FAILED: suite: Worlds/Suite.Param/2", said)
        self.assertIn("skipped: suite: Suite.Away: x.cc:9: Skipped needs two network", said)
        self.assertIn("x.cc:3: Failure", said)

    def test_unittest_cases(self):
        totals, said = self.count(("py", "run", UNITTEST))
        self.assertEqual(totals, "2 0 1")
        self.assertIn("no such machine", said)

    def test_the_closing_line_of_a_driver(self):
        self.assertEqual(self.count(("driver", "run", "seed 1\n7 cases passed, 0 failed\n"))[0], "7 0 0")
        self.assertEqual(self.count(("driver", "fail", "7 passed, 2 failed, 1 skipped"))[0], "7 2 1")

    def test_a_program_without_cases_is_one(self):
        self.assertEqual(self.count(("sh", "run", "fine\n"))[0], "1 0 0")
        self.assertEqual(self.count(("sh", "fail", "bad\n"))[0], "0 1 0")
        skipped = self.count(("sh", "notrun:SKIP_RETURN_CODE=77", "no such thing here\n"))
        self.assertEqual(skipped, ("0 0 1", "skipped: sh: sh: no such thing here"))
        missing = self.count(("sh", "notrun:Unable to find executable", ""))
        self.assertEqual(missing[0], "0 1 0")

    def test_a_crash_between_cases_is_a_failure(self):
        crashed = GTEST.split("[ RUN      ] Worlds")[0] + "[ RUN      ] Suite.Crash\nSegmentation"
        self.assertEqual(self.count(("suite", "fail", crashed))[0], "1 1 0")


class Arrows(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as tree:
            subprocess.run(["git", "init", "-q", tree], check=True, timeout=LIMIT)
            os.mkdir(f"{tree}/tools")
            shutil.copy(f"{ROOT}/tools/check_arrows", f"{tree}/tools/check_arrows")
            for name, text in files.items():
                os.makedirs(os.path.dirname(f"{tree}/{name}"), exist_ok=True)
                with open(f"{tree}/{name}", "w", encoding="utf-8") as file:
                    file.write(text)
            result = subprocess.run(
                [f"{tree}/tools/check_arrows"], capture_output=True, text=True, timeout=LIMIT
            )
            return result.returncode, result.stdout

    BASE = {"src/base/a.hpp": "#pragma once\n", "include/nccl.h": "\n"}

    def test_an_arrow_that_points_down_is_good(self):
        status, said = self.check(
            {**self.BASE, "src/comm/b.cc": '#include "base/a.hpp"\n#include <nccl.h>\n'}
        )
        self.assertEqual(status, 0, said)

    def test_an_arrow_that_points_up_is_not(self):
        status, said = self.check(
            {
                **self.BASE,
                "src/comm/c.hpp": "\n",
                "src/base/a.cc": '#include "comm/c.hpp"\n',
                "bench/b.cc": '#include "base/a.hpp"\n',
                "include/nccl.h": '#include "base/a.hpp"\n',
                "transport/t.cc": '#include "none.hpp"\n',
            }
        )
        self.assertEqual(status, 1)
        self.assertIn('src/base/a.cc: base must not include "comm/c.hpp" of comm', said)
        self.assertIn('bench/b.cc: bench must not include "base/a.hpp" of base', said)
        self.assertIn('include/nccl.h: a public header must not include "base/a.hpp"', said)
        self.assertIn('transport/t.cc: "none.hpp" is not a file of the tree', said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
                "src/base/d.cc": "#include <comm/c.hpp>\n#include <vector>\n",
                "trainer/t.cc": "#include <src/base/a.hpp>\n",
        self.assertIn("src/base/d.cc: base must not include <comm/c.hpp> of comm", said)
        self.assertIn("trainer/t.cc: trainer must not include <src/base/a.hpp> of base", said)
        self.assertNotIn("<vector>", said)
