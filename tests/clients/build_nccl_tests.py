#!/usr/bin/env python3
"""Builds nccl-tests from a folder with its source, against Gyre's nccl.h and libnccl.so.2.

Usage: build_nccl_tests.py --source DIR --out DIR --lib DIR [--mpi DIR|--no-mpi] [--arch 90] [--jobs 1]

Makes OUT/plain/*_perf, OUT/mpi/*_perf if MPI's headers are found, and OUT/many_devices.so. nccl-tests includes
nccl_device.h for libraries from 2.28 on: it is taken from the CUDA toolkit's NCCL, if that has one. --without-device
does without: the programs then take the library for 2.27 and leave the calls out that are younger.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT = 3600

# Stands in front of Gyre's header, and makes it seem one version older than nccl_device.h is.
OLDER = """#include "gyre_nccl.h"
#undef NCCL_VERSION_CODE
#define NCCL_VERSION_CODE NCCL_VERSION(2, 27, 7)
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help="the source of nccl-tests")
    parser.add_argument("--out", required=True, help="outside the repository")
    parser.add_argument("--lib", required=True, help="the folder of libnccl.so.2, to link with")
    parser.add_argument("--include", default=os.path.join(ROOT, "include"))
    parser.add_argument("--cuda", default=os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    parser.add_argument("--mpi", help="the folder of MPI's include/ and lib/")
    parser.add_argument("--no-mpi", action="store_true")
    parser.add_argument("--arch", default="90")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--without-device", action="store_true")
    return parser.parse_args()


def make_home(options):
    """A folder as an installed NCCL has it."""
    home = os.path.join(options.out, "home")
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(options.include, os.path.join(home, "include"))
    os.mkdir(os.path.join(home, "lib"))
    for path in glob.glob(os.path.join(os.path.realpath(options.lib), "lib*.so*")):
        os.symlink(path, os.path.join(home, "lib", os.path.basename(path)))
    link = os.path.join(home, "lib", "libnccl.so")
    if not os.path.lexists(link):
        os.symlink("libnccl.so.2", link)
    if options.without_device:
        header = os.path.join(home, "include", "nccl.h")
        os.rename(header, os.path.join(home, "include", "gyre_nccl.h"))
        with open(header, "w", encoding="ascii") as file:
            file.write(OLDER)
    return home


def make(options, home, kind, *variables):
    folder = os.path.join(os.path.abspath(options.out), kind)
    gencode = f"-gencode=arch=compute_{options.arch},code=sm_{options.arch}"
    command = ["make", "-C", options.source, f"-j{options.jobs}", f"NCCL_HOME={home}", f"CUDA_HOME={options.cuda}",
               f"NVCC_GENCODE={gencode}", f"BUILDDIR={folder}", "DSO=1", *variables]
    done = subprocess.run(["nice", *command], timeout=LIMIT, check=False)
    if done.returncode:
        sys.exit(f"make ended with {done.returncode}: {' '.join(command)}")
    programs = sorted(glob.glob(os.path.join(folder, "*_perf")))
    print(f"{folder}: {len(programs)} programs")


def find_mpi(options):
    """The folder of Open MPI's headers, or nothing."""
    if options.no_mpi:
        return None
    for folder in filter(None, [options.mpi, os.environ.get("MPI_HOME"), "/usr/lib/x86_64-linux-gnu/openmpi"]):
        if os.path.exists(os.path.join(folder, "include", "mpi.h")):
            return folder
    if options.mpi:
        sys.exit(f"there is no {options.mpi}/include/mpi.h")
    return None


def main():
    options = arguments()
    if os.path.realpath(options.out).startswith(os.path.realpath(ROOT) + os.sep):
        sys.exit("--out must lie outside the repository")
    options.out = os.path.realpath(options.out)
    os.makedirs(options.out, exist_ok=True)
    shim = os.path.join(options.out, "many_devices.so")
    subprocess.run(["cc", "-O1", "-Wall", "-shared", "-fPIC", os.path.join(HERE, "many_devices.c"), "-o", shim, "-ldl"],
                   check=True, timeout=60)
    home = make_home(options)
    make(options, home, "plain")
    mpi = find_mpi(options)
    if mpi:
        make(options, home, "mpi", "MPI=1", f"MPI_HOME={mpi}")
    else:
        print("MPI's headers were not found: no programs with MPI")


if __name__ == "__main__":
    main()
