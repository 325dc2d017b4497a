#!/usr/bin/env python3
"""Checks what a built libnccl.so.2 or librccl.so.1 is called, exports and needs.

A program linked against NCCL or RCCL records a soname and unversioned symbols; a tool that
interposes a function calls its p twin. So each listed name and its twin must be an exported,
unversioned function. Nothing else may be exported: it could clash with a symbol of the program.
"""
import argparse
import ctypes
import os
import re
import subprocess
import sys

# Loaded at run time or not at all: a process without that vendor's driver must still start.
# libfmt may exist in another version in the host process.
FORBIDDEN_NEEDED = re.compile(
    r"lib(cuda|cudart|nvidia-ml|amdhip64|hsa-runtime64|rocm_smi64|amd_smi|nccl|rccl|ibverbs|fmt)\b")


def readelf(option, path):
    return subprocess.run(["readelf", "--wide", option, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def dynamic_entries(path):
    """(soname, needed) of the dynamic section."""
    text = readelf("--dynamic", path)
    sonames = re.findall(r"\(SONAME\).*\[(.*)\]", text)
    return sonames, re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def defined_symbols(path):
    """name -> (type, binding, visibility) of every defined dynamic symbol, versions kept."""
    symbols = {}
    for line in readelf("--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit() and fields[6] != "UND":
            symbols[fields[7]] = (fields[3], fields[4], fields[5])
    return symbols


def check_exports(listed, symbols):
    wanted = {prefix + name for name in listed for prefix in ("", "p")}
    problems = [f"{name} is not exported" for name in sorted(wanted - symbols.keys())]
    for name in sorted(wanted & symbols.keys()):
        kind, binding, visibility = symbols[name]
        if kind != "FUNC" or binding not in ("GLOBAL", "WEAK") or visibility != "DEFAULT":
            problems.append(f"{name} is {kind} {binding} {visibility}, not a default function")
    for name in sorted(symbols.keys() - wanted):
        if "@" in name:
            problems.append(f"{name} has a version")
        else:
            problems.append(f"{name} is exported but not listed")
    return problems


def check_identity(soname, path):
    sonames, needed = dynamic_entries(path)
    problems = [] if sonames == [soname] else [f"soname is {sonames}, not {soname}"]
    problems += [f"needs {name}" for name in needed if FORBIDDEN_NEEDED.match(name)]
    if "Version definition section" in readelf("--version-info", path):
        problems.append("defines symbol versions")
    return problems


def check_loads(listed, path):
    """Loads the library with every reference resolved at once and asks for its version."""
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOW)
    except OSError as error:
        return [f"does not load: {error}"]
    problems = [f"dlsym does not find {prefix + name}" for name in listed for prefix in ("", "p")
                if not hasattr(library, prefix + name)]
    version = ctypes.c_int()
    if library.ncclGetVersion(ctypes.byref(version)) != 0 or version.value < 22809:
        problems.append(f"ncclGetVersion says {version.value}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symbols", help="file with one function name a line, without p twins")
    parser.add_argument("soname")
    parser.add_argument("path", help="the shared library")
    parser.add_argument("--no-load", action="store_true", help="only read it (sanitizer builds)")
    arguments = parser.parse_args()
    with open(arguments.symbols, encoding="ascii") as file:
        listed = file.read().split()
    if not listed or listed != sorted(set(listed)):
        sys.exit(f"{arguments.symbols}: empty, unsorted or with duplicates")
    problems = check_identity(arguments.soname, arguments.path)
    problems += check_exports(listed, defined_symbols(arguments.path))
    if not problems and not arguments.no_load:
        problems += check_loads(listed, arguments.path)
    for problem in problems:
        print(f"{arguments.path}: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{arguments.soname}: {2 * len(listed)} symbols, as listed")


if __name__ == "__main__":
    main()
