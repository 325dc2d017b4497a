#!/usr/bin/env python3
"""bench/simulated_vs_measured: its arithmetic and texts, and a prediction by the real command.

Usage: simulated_vs_measured_test.py SOURCE_FOLDER BUILD_FOLDER
"""

import doctest
import os
import sys
import unittest

SOURCE, BUILD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "bench"))

from simulated import calibration, paths, prediction, tables  # noqa: E402

RING = {"collective": "all_reduce", "algorithm": "ring", "ranks": 4, "bytes": 64 << 10}


def calibrated(copy=0.0, reduce=0.0):
    return calibration.Calibration(
        call=1e-6, alpha={4: 10e-6}, copy={64 << 10: copy}, reduce={64 << 10: reduce}
    )


class FakeMeasuring:
    """A machine of exact costs: a call 1 us, a hop 4 us and 2 ns a byte, a reduced byte 1 ns."""

    def times(self, _path, ranks, collective, sizes, _algorithm="ring"):
        def seconds(size):
            if ranks == 1:
                return 1e-6
            if collective == "sendrecv":
                return 5e-6 + 2e-9 * size
            return 5e-6 + 3e-9 * size / 2

        return {size: seconds(size) for size in sizes}


class Arithmetic(unittest.TestCase):
    def test_what_the_documentation_says(self):
        for module in (calibration, prediction, tables):
            result = doctest.testmod(module)
            self.assertEqual(result.failed, 0)
            self.assertGreater(result.attempted, 0)

    def test_calibration_takes_the_parts_apart(self):
        found = calibration.calibrate(FakeMeasuring(), paths.shared_memory(), [2, 4], [1 << 20])
        self.assertAlmostEqual(found.call, 1e-6)
        self.assertAlmostEqual(found.alpha[4], 4e-6 + 32e-9)
        self.assertAlmostEqual(found.copy[1 << 20], 2e-9, delta=1e-12)
        self.assertAlmostEqual(found.reduce[1 << 20], 1e-9, delta=1e-12)


class Prediction(unittest.TestCase):
    def predicted(self, path, found, cores):
        return prediction.predict(BUILD, path, found, RING, cores)

    def test_hops_that_cost_nothing_but_latency(self):
        seconds = self.predicted(paths.shared_memory(), calibrated(), 4)
        self.assertAlmostEqual(seconds, 1e-6 + 6 * 10e-6, delta=1e-8)

    def test_ranks_that_outnumber_the_cores_share_them(self):
        found = calibrated(copy=1e-9)
        alone = self.predicted(paths.shared_memory(), found, 4)
        shared = self.predicted(paths.shared_memory(), found, 1)
        self.assertAlmostEqual(alone, 1e-6 + 6 * 10e-6 + 4.25 * 16384e-9, delta=1e-7)
        self.assertGreater(shared, alone)

    def test_messages_share_a_shaped_link(self):
        # Two flows at a time were measured: a byte of each in 2 ns, one alone in 1 ns.
        seconds = self.predicted(paths.shaped_tcp(8 << 30), calibrated(copy=2e-9), 4)
        self.assertAlmostEqual(seconds, 1e-6 + 6 * (10e-6 + 4 * 16384e-9), delta=1e-7)


if __name__ == "__main__":
    unittest.main()
