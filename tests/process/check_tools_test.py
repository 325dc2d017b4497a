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
    def count(self, *tests, expected=()):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(junit(*tests))
            file.flush()
            result = subprocess.run(
                [f"{ROOT}/tools/count_cases", file.name, *expected],
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

    def test_what_should_have_run_and_did_not_is_a_failure(self):
        totals, said = self.count(("a", "run", "fine\n"), expected=["a", "b"])
        self.assertEqual(totals, "1 1 0")
        self.assertIn("FAILED: b: it did not run", said)


FAKES = {
    # CTest: knows two tests; runs those that RUN names.
    "ctest": """#!/bin/sh
case "$*" in *" -N"*) printf '  Test #1: one\\n  Test #12: two (Disabled)\\n\\nTotal Tests: 2\\n'; exit; esac
while [ "$1" != --output-junit ]; do shift; done
{ echo '<testsuite>'
  for name in $RUN; do echo "<testcase name=\\"$name\\" status=\\"run\\"/>"; done
  echo "$END"; } >"$2"
""",
    "cmake": "#!/bin/sh\necho fine\n",
    "setup": "#!/bin/sh\necho fine\n",
    "ninja": "#!/bin/sh\necho fine\n",
}


class Check(unittest.TestCase):
    """tools/check in a tree of stand-ins for all that it starts."""

    def check(self, level, run="one two", end="</testsuite>", budget="4500", setup="", wrapped=None):
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(f"{tree}/bin")
            os.makedirs(f"{tree}/tools")
            places = {name: f"bin/{name}" for name in ("ctest", "cmake", "ninja")}
            stand_ins = ("setup", "check_arrows", "check_format", "check_headers", "check_tidy")
            places |= {name: f"tools/{name}" for name in stand_ins}
            for name, place in places.items():
                text = setup if setup and name == "setup" else FAKES.get(name, FAKES["setup"])
                with open(f"{tree}/{place}", "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(f"{tree}/{place}", 0o755)
            shutil.copy(f"{ROOT}/tools/count_cases", f"{tree}/tools/count_cases")
            with open(f"{ROOT}/tools/check", encoding="utf-8") as file:
                script = file.read().replace("budget_s=4500", f"budget_s={budget}")
            with open(f"{tree}/tools/check", "w", encoding="utf-8") as file:
                file.write(script)
            environment = {**os.environ, "PATH": f"{tree}/bin:{os.environ['PATH']}"}
            command = ["bash", f"{tree}/tools/check", level]
            result = subprocess.run(
                wrapped(command) if wrapped else command,
                env={**environment, "RUN": run, "END": end}, input="secret\n",
                capture_output=True, text=True, timeout=LIMIT,
            )
            return result.returncode, result.stdout + result.stderr

    def test_all_well(self):
        status, said = self.check("fast")
        self.assertEqual(status, 0, said)
        self.assertEqual(said.splitlines()[-1], "8 passed, 0 failed")

    def test_what_the_time_did_not_reach_is_not_well(self):
        status, said = self.check("fast", budget="1", setup="#!/bin/sh\nsleep 2\n")
        self.assertIn("1 passed, 0 failed, 4 skipped", said)
        self.assertNotEqual(status, 0, said)

    def test_a_test_that_ctest_did_not_come_to_has_failed(self):
        status, said = self.check("fast", run="one")
        self.assertNotEqual(status, 0, said)
        self.assertIn("FAILED: two: it did not run", said)

    def test_results_that_cannot_be_read_are_a_failure(self):
        status, said = self.check("fast", end="<")
        self.assertNotEqual(status, 0, said)
        self.assertIn("no result can be read", said)

    def test_ci_has_clang_tidy_and_no_sanitizer(self):
        status, said = self.check("ci")
        self.assertEqual(status, 0, said)
        self.assertIn("== clang-tidy", said)
        self.assertNotIn("asan", said)

    @unittest.skipIf(shutil.which("script") is None, "no script(1), which gives a terminal")
    def test_setup_may_ask_for_a_password(self):
        asking = "#!/bin/sh\nread -r word </dev/tty && echo \"got $word\"\n"
        status, said = self.check(
            "fast", setup=asking,
            wrapped=lambda command: ["script", "-qec", " ".join(command), "/dev/null"],
        )
        self.assertEqual(status, 0, said)
        self.assertIn("got secret", said)


class EmptyLists(unittest.TestCase):
    """A check that found nothing to check has not passed."""

    def run_in(self, tree, name, environment=None):
        os.makedirs(f"{tree}/tools")
        shutil.copy(f"{ROOT}/tools/{name}", f"{tree}/tools/{name}")
        return subprocess.run(
            [f"{tree}/tools/{name}"], env={**os.environ, **(environment or {})},
            capture_output=True, text=True, timeout=LIMIT,
        )

    def test_headers(self):
        for is_repository in (False, True):
            with tempfile.TemporaryDirectory() as tree:
                if is_repository:
                    subprocess.run(["git", "init", "-q", tree], check=True, timeout=LIMIT)
                result = self.run_in(tree, "check_headers", {"GIT_CEILING_DIRECTORIES": tree})
                self.assertNotEqual(result.returncode, 0, result.stdout)

    def test_tidy(self):
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(f"{tree}/bin")
            os.makedirs(f"{tree}/build-clang")
            with open(f"{tree}/build-clang/compile_commands.json", "w", encoding="utf-8") as file:
                file.write("[]")
            with open(f"{tree}/bin/cmake", "w", encoding="utf-8") as file:
                file.write(FAKES["cmake"])
            os.chmod(f"{tree}/bin/cmake", 0o755)
            result = self.run_in(tree, "check_tidy", {"PATH": f"{tree}/bin:{os.environ['PATH']}"})
            self.assertNotEqual(result.returncode, 0, result.stdout)


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
                "src/base/d.cc": "#include <comm/c.hpp>\n#include <vector>\n",
                "trainer/t.cc": "#include <src/base/a.hpp>\n",
            }
        )
        self.assertEqual(status, 1)
        self.assertIn('src/base/a.cc: base must not include "comm/c.hpp" of comm', said)
        self.assertIn('bench/b.cc: bench must not include "base/a.hpp" of base', said)
        self.assertIn('include/nccl.h: a public header must not include "base/a.hpp"', said)
        self.assertIn('transport/t.cc: "none.hpp" is not a file of the tree', said)
        self.assertIn("src/base/d.cc: base must not include <comm/c.hpp> of comm", said)
        self.assertIn("trainer/t.cc: trainer must not include <src/base/a.hpp> of base", said)
        self.assertNotIn("<vector>", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
