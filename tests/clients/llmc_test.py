#!/usr/bin/env python3
"""llm.c trains GPT-2 on Gyre: 2 and 4 processes on one GPU have the losses of one process with the whole batch.

Usage: llmc_test.py --lib DIR --bin DIR [--mps] [--only PATTERN]

DIR of --bin is what build_llmc.py made. The text is made here, in llm.c's format for tokens; the weights are llm.c's
own random ones.
"""

import argparse
import array
import fnmatch
import os
import re
import tempfile
import time

import harness
from harness import World, client_environment, status_text

BATCH, LENGTH, STEPS = 4, 128, 10
TEXT_MAGIC, TEXT_VERSION, HEADER_NUMBERS = 20240520, 1, 256
LETTERS = 97
# Relative, of the losses. The ranks' sums run in another order; bf16 has 8 bits.
TOLERANCES = {"fp32": 1e-4, "bf16": 2e-2}
STEP = re.compile(r"^step +(\d+)/\d+ \| loss +([-0-9.naif]+) ", re.MULTILINE)


def write_text(path):
    """Tokens that follow a rule, so that there is something to learn: 256 numbers of head, then 16 bits a token."""
    count = 16 * BATCH * LENGTH + 1
    head = array.array("i", [0] * HEADER_NUMBERS)
    head[:3] = array.array("i", [TEXT_MAGIC, TEXT_VERSION, count])
    tokens = array.array("H", ((i * i // 7 + i) % LETTERS for i in range(count)))
    with open(path, "wb") as file:
        head.tofile(file)
        tokens.tofile(file)


class Test:
    def __init__(self, options, report, logs):
        self.options, self.report, self.logs = options, report, logs
        self.library = harness.library_of(options.lib)
        self.environment = client_environment(self.library, False)
        self.alone = {}

    def program(self, precision):
        return os.path.join(os.path.realpath(self.options.bin), f"train_gpt2_{precision}")

    def losses(self, precision, ranks, stage):
        """Trains. Gives (losses, nothing) or (nothing, why there are none)."""
        with tempfile.TemporaryDirectory() as folder:
            text = os.path.join(folder, "text.bin")
            write_text(text)
            command = [self.program(precision), "-i", text, "-j", text, "-e", "d6", "-b", str(BATCH // ranks),
                       "-t", str(LENGTH), "-d", str(BATCH * LENGTH), "-x", str(STEPS), "-l", "3e-4", "-z", str(stage)]
            # One batch again and again: a shuffle would give each rank its own order of samples. No samples, no
            # short cuts in precision.
            command += ["-a", "1", "-v", str(STEPS), "-m", "2", "-s", "0", "-f", "0"]
            command += ["-pi", "fs", "-pf", folder, "-pg", "1", "-pn", str(ranks)]
            commands = [[*command, "-pr", str(rank)] for rank in range(ranks)]
            name = f"llmc.{precision}.{ranks}.{stage}"
            with World(commands, [self.environment] * ranks, self.logs, name) as world:
                why = world.wait(self.options.limit)
                statuses = world.statuses()
                world.end()
                if why or any(statuses):
                    self.report.detail(world.outputs())
                    return None, why or ", ".join(map(status_text, statuses))
                found = STEP.findall(harness.tail(world.logs[0], 10**6))
                if [int(step) for step, _ in found] != list(range(1, STEPS + 1)):
                    self.report.detail(world.outputs())
                    return None, f"{len(found)} of {STEPS} steps are in the output"
                return [float(loss) for _, loss in found], ""

    def why_not(self, precision):
        program = self.program(precision)
        if not os.path.exists(program):
            return f"{program} was not built"
        nccl, missing = harness.loaded_by(program, self.environment, self.logs)
        if missing:
            return f"the loader finds no {', '.join(missing)}"
        return "" if nccl == os.path.realpath(self.library) else f"libnccl.so.2 would be {nccl}"

    def case(self, precision, ranks, stage):
        name = f"llmc/{precision}/{ranks}/zero{stage}"
        if not fnmatch.fnmatch(name, self.options.only):
            return
        why = self.why_not(precision)
        if stage == 1 and not self.options.racy:
            # Its gathering of the updated parameters goes on a stream that does not wait for the update.
            why = "llm.c's ZeRO-1 reads parameters before they are written; --racy runs it"
        if why:
            self.report.skipped(name, why)
            return
        if precision not in self.alone:
            self.alone[precision] = self.losses(precision, 1, 0)
        alone, why = self.alone[precision]
        if why:
            self.report.failed(name, f"one process alone: {why}")
            return
        begun = time.monotonic()
        together, why = self.losses(precision, ranks, stage)
        seconds = time.monotonic() - begun
        if why:
            self.report.failed(name, why)
            return
        worst = max(abs(a - b) / abs(a) for a, b in zip(alone, together))
        note = f"{seconds:.1f} s, loss {alone[0]:.4f} to {alone[-1]:.4f}, off by {worst:.1e}"
        if not worst <= TOLERANCES[precision]:
            self.report.failed(name, f"{TOLERANCES[precision]:.0e} is allowed; {note}; {together}")
        elif not alone[-1] < 0.95 * alone[0]:
            self.report.failed(name, f"nothing was learnt; {note}")
        else:
            self.report.ok(name, note)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_common_arguments(parser)
    parser.add_argument("--bin", required=True, help="what build_llmc.py made")
    parser.add_argument("--limit", type=float, default=180, help="seconds for a training run")
    parser.add_argument("--racy", action="store_true", help="also ZeRO-1, whose outcome depends on timing")
    return parser.parse_args()


def main():
    options = arguments()

    def run(report, logs):
        test = Test(options, report, logs)
        for precision in ("fp32", "bf16"):
            for ranks in (2, 4):
                for stage in (0, 1):  # 1: gradients are scattered and weights gathered
                    test.case(precision, ranks, stage)

    harness.run_test(options, run)


if __name__ == "__main__":
    main()
