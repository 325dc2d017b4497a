#!/usr/bin/env python3
"""What the compilers say that each kernel takes, against its budget: registers and stack decide how many blocks a
multiprocessor holds at once, spills what a step costs.

Usage: kernel_resources_test.py cuda|hip OBJECT...     (beside each, its report of cmake/compile_with_report)
"""

import pathlib
import re
import sys

# The most that any element type and architecture may take, by the function's own name, with a little room for what
# compilers do differently. Registers are of a thread, and bytes too. Whoever needs more writes it here, and why into
# the commit.
KERNELS = {  # registers, bytes of stack
    "cuda": {"interpret": (64, 1408), "move_bytes": (64, 352), "exchange": (64, 224), "exchange_bytes": (64, 160),
             "wait_for_errand": (16, 0)},
    # The launch is copied to the stack where a function that is not inlined takes it.
    "hip": {"interpret": (256, 288), "move_bytes": (168, 32), "exchange": (136, 3712), "exchange_bytes": (88, 32),
            "wait_for_errand": (16, 0)},
}
SPILLS = {  # bytes stored and loaded; on HIP registers
    "cuda": {"decode_ahead": 608, "exchange_with": 512, "fold_with": 768, "interpret": 288, "move_bytes": 96,
             "move_elements": 128},
    "hip": {"exchange": 512, "exchange_bytes": 128},
}
FEW_SPILLS = 64  # of functions that are not there

CUDA_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
CUDA_FUNCTION = re.compile(r"Function properties for (\w+)")
CUDA_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
CUDA_USED = re.compile(r"Used (\d+) registers")
CUDA_STACK = re.compile(r"(\d+) bytes cumulative stack size")
HIP_FUNCTION = re.compile(r"remark: .*Function Name: (\w+)")
HIP_VALUE = re.compile(r"remark: .*?(VGPRs|ScratchSize \[bytes/lane\]|SGPRs Spill|VGPRs Spill): (\d+)")


def own_name(mangled):
    """The last of an Itanium-mangled function's nested names."""
    names, rest = [], mangled.removeprefix("_ZN")
    while match := re.match(r"L?(\d+)", rest):  # L: it is static
        end = match.end() + int(match[1])
        names.append(rest[match.end():end])
        rest = rest[end:]
    return names[-1] if names else mangled


class Taken:
    """The most of all that was read."""

    def __init__(self):
        self.registers, self.stack, self.spills = {}, {}, {}

    @staticmethod
    def note(values, name, value):
        values[name] = max(values.get(name, 0), int(value))

    def read_cuda(self, text):
        kernel = function = ""
        for line in text.splitlines():
            if match := CUDA_KERNEL.search(line):
                kernel = own_name(match[1])
            elif match := CUDA_FUNCTION.search(line):
                function = own_name(match[1])
            elif match := CUDA_SPILLS.search(line):
                self.note(self.spills, function, int(match[1]) + int(match[2]))
            elif match := CUDA_USED.search(line):
                stack = CUDA_STACK.search(line)
                self.note(self.registers, kernel, match[1])
                self.note(self.stack, kernel, stack[1] if stack else 0)

    def read_hip(self, text):
        function = ""
        for line in text.splitlines():
            if match := HIP_FUNCTION.search(line):
                function = own_name(match[1])
            elif match := HIP_VALUE.search(line):
                values = {"V": self.registers, "S": self.stack}[match[1][0]]
                self.note(self.spills if match[1].endswith("Spill") else values, function, match[2])


def judge(taken, kernels, spills):
    """Lines to print, and whether all is within its budget."""
    checks = []
    for kernel in sorted(kernels.keys() | taken.registers.keys()):
        registers, stack = kernels.get(kernel, (-1, -1))
        checks.append((kernel, "registers", taken.registers.get(kernel, -1), registers))
        checks.append((kernel, "bytes of stack", taken.stack.get(kernel, -1), stack))
    for function in sorted(taken.spills):
        checks.append((function, "of spills", taken.spills[function], spills.get(function, FEW_SPILLS)))
    fine = [0 <= takes <= budget for _, _, takes, budget in checks]
    lines = [f"{'ok' if good else 'FAILED'} {name}: {takes} {what}, budget {budget}".replace(" -1", " none")
             for good, (name, what, takes, budget) in zip(fine, checks)]
    return lines, all(fine) and bool(taken.registers)


def main():
    backend, objects = sys.argv[1], sys.argv[2:]
    taken = Taken()
    for compiled in objects:
        report = pathlib.Path(compiled + ".report")
        getattr(taken, f"read_{backend}")(report.read_text(encoding="utf-8"))
    lines, fine = judge(taken, KERNELS[backend], SPILLS[backend])
    print("\n".join(lines))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
