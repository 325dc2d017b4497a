#!/usr/bin/env python3
"""Compares our nccl.h with NCCL's own header of the same version, where one is installed.

1. client.c is compiled against both, so the hand-typed expectations are true of both.
2. A generated probe prints, for every function, constant and enumerator that NCCL's header has,
   its type or value, and the bytes of its initializers; both headers must give the same lines.
Exits with 77 (skipped) and a reason if NCCL's header of our version is not there.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
# NCCL 2.30 moved the first and we follow it; the others describe headers, not the interface.
NOT_COMPARED = re.compile(
    r"ncclNumResults|ncclNumOps_dummy|NCCL_(CONFIG|SIM_INFO)_INITIALIZER|NCCL_H_|NCCL_VERSION")
PROBE = """
#include <cstdio>
#include <cstring>
#include <iostream>
#include <typeinfo>
#include <vector>
%(includes)s
template <class Struct>
void bytes(const char* name, Struct value, size_t count) {
  value.size = 0;     /* differ by release, and are checked by client.c */
  value.version = 0;
  std::vector<unsigned char> raw(sizeof(value));
  std::memcpy(raw.data(), &value, sizeof(value));
  std::printf("%%s", name);
  for (size_t i = 0; i < count; ++i) std::printf(" %%02x", raw[i]);
  std::printf("\\n");
}
template <class Function>
void function(const char* name) {
  std::cout << name << ' ' << typeid(Function).name() << std::endl;
}
int main() {
%(lines)s
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  bytes("NCCL_CONFIG_INITIALIZER", config, 80);
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  bytes("NCCL_SIM_INFO_INITIALIZER", info, 20);
  std::cout << typeid(ncclConfig_t).name() << ' ' << typeid(ncclSimInfo_t).name() << ' '
            << typeid(ncclUniqueId).name() << ' ' << typeid(ncclWindow_t).name() << std::endl;
}
"""


def run(command, **options):
    return subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE, **options).stdout


def macros(compiler, folder):
    text = run([compiler, "-E", "-dM", "-x", "c", "-I", folder, "-"], input="#include <nccl.h>\n")
    return dict(re.findall(r"^#define (NCCL_\w+|GYRE_NCCL_API_LEVEL) (.*)$", text, re.M))


def find_reference(compiler, folders, version):
    """The first folder with NCCL's own nccl.h of that version, or None and why."""
    reasons = []
    for folder in folders:
        if not os.path.exists(os.path.join(folder, "nccl.h")):
            reasons.append(f"{folder}: no nccl.h")
            continue
        found = macros(compiler, folder)
        if "GYRE_NCCL_API_LEVEL" in found:
            reasons.append(f"{folder}: this is Gyre's own header")
        elif found.get("NCCL_VERSION_CODE") != version:
            reasons.append(f"{folder}: version {found.get('NCCL_VERSION_CODE')}, not {version}")
        else:
            return folder, ""
    return None, "; ".join(reasons)


def names_of(compiler, folder):
    """(functions, constants) of the header and its device header's host functions."""
    source = "#include <nccl.h>\n"
    text = run([compiler, "-E", "-P", "-x", "c", "-I", folder, "-"], input=source)
    twins = re.findall(r"\bp(nccl[A-Z]\w*)\s*\(", text)
    enumerators = re.findall(r"\b(nccl[A-Z]\w*)\s*=", text)
    device = []
    for path in glob.glob(os.path.join(folder, "nccl_device", "*.h")):
        with open(path, encoding="utf-8") as file:
            device += re.findall(r"^NCCL_EXTERN_C __host__ .*?\b(nccl[A-Z]\w*)\(", file.read(), re.M)
    constants = set(enumerators) | macros(compiler, folder).keys()
    constants = {name for name in constants if not NOT_COMPARED.fullmatch(name)}
    return sorted(set(twins)), sorted(set(device)), sorted(constants)


def call_or_address(name):
    """What to take the type of: C++ overloads the team functions, so those are resolved by a call."""
    if name in ("ncclTeamWorld", "ncclTeamLsa", "ncclTeamRail"):
        return f"{name}(ncclComm_t())"
    if name in ("ncclTeamRankToWorld", "ncclTeamRankToLsa"):
        return f"{name}(ncclComm_t(), ncclTeam_t(), 0)"
    return f"&{name}"


def probe(compiler, includes, folders, lines, scratch, name):
    source = os.path.join(scratch, f"{name}.cc")
    with open(source, "w", encoding="ascii") as file:
        headers = "\n".join(f"#include <{header}>" for header in includes)
        file.write(PROBE % {"includes": headers, "lines": lines})
    program = os.path.join(scratch, name)
    flags = [flag for folder in folders for flag in ("-I", folder)]
    run([compiler, "-std=c++17", "-w", *flags, "-o", program, source])
    return run([program]).splitlines()


def compile_client(cc, cxx, client, folder):
    flags = ["-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-DABI_REFERENCE",
             "-isystem", folder, "-fsyntax-only", client]
    run([cc, "-std=c99", *flags])
    run([cxx, "-std=c++17", "-x", "c++", *flags])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True, help="folder of Gyre's nccl.h")
    parser.add_argument("--client", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("folders", nargs="*", help="where NCCL's nccl.h may be")
    arguments = parser.parse_args()
    version = macros(arguments.cc, arguments.include)["NCCL_VERSION_CODE"]
    folders = arguments.folders + ["/usr/local/cuda/include", "/usr/local/include", "/usr/include"]
    reference, reason = find_reference(arguments.cc, folders, version)
    if reference is None:
        print(f"skipped, NCCL's own header of version {version} was not found: {reason}")
        sys.exit(SKIPPED)

    compile_client(arguments.cc, arguments.cxx, arguments.client, reference)
    functions, device, constants = names_of(arguments.cc, reference)
    lines = [f'  function<decltype(&{p}{n})>("{p}{n}");' for n in functions for p in ("", "p")]
    lines += [f'  std::cout << "{name} " << ({name}) << std::endl;' for name in constants]
    lines += [f'  function<decltype({call_or_address(name)})>("{name}");' for name in device]
    lines = "\n".join(lines)
    with tempfile.TemporaryDirectory() as scratch:
        theirs = probe(arguments.cxx, ["nccl.h", "nccl_device.h"] if device else ["nccl.h"],
                       [reference], lines, scratch, "theirs")
        ours = probe(arguments.cxx, ["nccl.h", "gyre/nccl_device_host.h"],
                     [arguments.include, reference], lines, scratch, "ours")
    different = [f"- {a}\n+ {b}" for a, b in zip(theirs, ours) if a != b]
    if different or len(theirs) != len(ours):
        print("\n".join(different), file=sys.stderr)
        sys.exit("our header differs from NCCL's")
    print(f"equal to {reference}/nccl.h: {len(functions)} functions with twins, "
          f"{len(device)} of the device header, {len(constants)} constants")


if __name__ == "__main__":
    main()
