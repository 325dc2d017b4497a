#!/usr/bin/env python3
"""Compiles the public headers the way programs do, and compares them with the symbol lists.

Each case is a small source file: standards, with and without CUDA or HIP headers, both orders of
inclusion, an installed copy, and the combination that must be refused. HIP is rarely installed
where this runs, so a stand-in with HIP's stream type shows that its headers would be used.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

INSTALLED = ("nccl.h", "gyre/nccl_types.h", "gyre/nccl_api.h", "gyre/nccl_device_host.h", "rccl/rccl.h")
C_STANDARDS = ("c99", "c11", "c17")
CXX_STANDARDS = ("c++11", "c++17", "c++20")
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
HIP_STAND_IN = """#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#if !defined(__HIP_PLATFORM_AMD__)
#error "no platform"
#endif
typedef struct ihipStream_t* hipStream_t;
#define STAND_IN_WAS_USED
#endif
"""
USE = """
static {stream} stream = NULL;
static ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
int use(ncclComm_t comm);
int use(ncclComm_t comm) {{
  return (int)ncclAllReduce(NULL, NULL, config.size, ncclFloat, ncclSum, comm, stream);
}}
"""

TYPES = """#include <gyre/nccl_types.h>
int use(void);
int use(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return (int)config.version + ncclFloat + ncclSum;
}
"""


class Cases:
    def __init__(self, compilers, include):
        self.compilers = compilers
        self.include = include
        self.count = 0
        self.failures = []

    def compile(self, label, source, flags=(), include=None, refused=None, standards=None):
        """Compiles source with every compiler; `refused` is the text an expected error holds."""
        for compiler, is_cxx in self.compilers:
            for standard in standards or (CXX_STANDARDS if is_cxx else C_STANDARDS):
                if standard.startswith("c++") == is_cxx:
                    self.compile_one(label, source, [compiler, f"-std={standard}", "-x",
                                                     "c++" if is_cxx else "c", *flags],
                                     include or self.include, refused)

    def compile_one(self, label, source, command, include, refused):
        command += [*STRICT, "-I", include, "-fsyntax-only", "-"]
        done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
        self.count += 1
        if refused is None and done.returncode != 0:
            self.failures.append(f"{label}: {' '.join(command)}\n{done.stderr}")
        if refused is not None and (done.returncode == 0 or refused not in done.stderr):
            self.failures.append(f"{label}: {' '.join(command)} was not refused\n{done.stderr}")


def user_of(*headers, stream="cudaStream_t"):
    return "".join(f"#include <{header}>\n" for header in headers) + USE.format(stream=stream)


def check_compilation(cases, scratch, cuda_include):
    cases.compile("gyre/nccl_types.h alone", TYPES)
    for header in INSTALLED:
        if header == "gyre/nccl_types.h":
            continue
        stream = "hipStream_t" if "rccl" in header else "cudaStream_t"
        stream = "struct CUstream_st*" if header.startswith("gyre/") else stream
        cases.compile(f"{header} alone", user_of(header, stream=stream), ["-DGYRE_NO_CUDA"])
    cases.compile("twice", user_of("nccl.h", "nccl.h"), ["-DGYRE_NO_CUDA"], standards=["c99"])
    for pair in (("nccl.h", "rccl/rccl.h"), ("rccl/rccl.h", "nccl.h")):
        cases.compile("both vendors", user_of(*pair), ["-DGYRE_NO_CUDA"], refused="include only one",
                      standards=["c99", "c++17"])

    installed = os.path.join(scratch, "installed")
    for header in INSTALLED:
        os.makedirs(os.path.dirname(os.path.join(installed, header)), exist_ok=True)
        shutil.copy(os.path.join(cases.include, header), os.path.join(installed, header))
    for header, stream in (("nccl.h", "cudaStream_t"), ("rccl/rccl.h", "hipStream_t")):
        cases.compile(f"installed {header}", user_of(header, stream=stream), include=installed,
                      standards=["c99", "c++17"])

    hip = os.path.join(scratch, "hip_stand_in")
    os.makedirs(os.path.join(hip, "hip"))
    with open(os.path.join(hip, "hip", "hip_runtime_api.h"), "w", encoding="ascii") as file:
        file.write(HIP_STAND_IN)
    used = "\n#ifndef STAND_IN_WAS_USED\n#error \"HIP headers ignored\"\n#endif\n"
    source = user_of("rccl/rccl.h", stream="hipStream_t")
    cases.compile("HIP headers", source + used, ["-I", hip, "-D__HIP_PLATFORM_AMD__"])
    cases.compile("HIP first", user_of("hip/hip_runtime_api.h", "rccl/rccl.h", stream="hipStream_t"),
                  ["-I", hip, "-D__HIP_PLATFORM_AMD__", "-DGYRE_NO_HIP"])
    cases.compile("HIP without platform", source, ["-I", hip], standards=["c99", "c++17"])

    if cuda_include is None:
        print("CUDA headers: none given, their cases are left out")
        return
    cuda = ["-isystem", cuda_include]
    used = """
#if !defined(CUDART_VERSION)
#error "CUDA headers ignored"
#elif defined(__cplusplus) && !(defined(__CUDA_BF16_TYPES_EXIST__) && defined(__CUDA_FP8_TYPES_EXIST__))
#error "no bfloat16 or float8"
#endif
"""
    some = ["c99", "c++17"]
    cases.compile("CUDA headers", user_of("nccl.h") + used, cuda, standards=some)
    cases.compile("CUDA first", user_of("cuda_runtime.h", "nccl.h"), [*cuda, "-DGYRE_NO_CUDA"],
                  standards=some)
    cases.compile("CUDA last", user_of("nccl.h", "cuda_runtime.h"), [*cuda, "-DGYRE_NO_CUDA"],
                  standards=some)


def declared(compiler, include, header):
    """The functions of a header whose p twin is declared too, by reading it preprocessed."""
    source = f"#include <{header}>\n#include <gyre/nccl_device_host.h>\n"
    text = subprocess.run([compiler, "-E", "-P", "-x", "c", "-DGYRE_NO_CUDA", "-DGYRE_NO_HIP",
                           "-I", include, "-"], input=source, text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    names = set(re.findall(r"\b(p?(?:nccl|msccl)[A-Z]\w*)\s*\(", text))
    plain = {name for name in names if not name.startswith("p")}
    return plain, names - plain


def check_lists(compiler, include, lists):
    failures = []
    for header, path in lists:
        with open(path, encoding="ascii") as file:
            listed = set(file.read().split())
        plain, twins = declared(compiler, include, header)
        for what, names in (("declared", plain), ("declared as twin", {n[1:] for n in twins})):
            failures += [f"{path}: {n} is {what} by {header} but not listed"
                         for n in sorted(names - listed)]
            failures += [f"{path}: {n} is listed but not {what} by {header}"
                         for n in sorted(listed - names)]
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--cuda-include", help="folder of cuda_runtime.h")
    parser.add_argument("--nccl-symbols", required=True)
    parser.add_argument("--rccl-symbols", required=True)
    arguments = parser.parse_args()
    cases = Cases([(arguments.cc, False), (arguments.cxx, True)], arguments.include)
    with tempfile.TemporaryDirectory() as scratch:
        check_compilation(cases, scratch, arguments.cuda_include)
    cases.failures += check_lists(arguments.cc, arguments.include,
                                  [("nccl.h", arguments.nccl_symbols),
                                   ("rccl/rccl.h", arguments.rccl_symbols)])
    for failure in cases.failures:
        print(failure, file=sys.stderr)
    if cases.failures:
        sys.exit(1)
    print(f"{cases.count} compilations as expected, symbol lists match the headers")


if __name__ == "__main__":
    main()
