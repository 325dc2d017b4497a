#!/usr/bin/env python3
"""Builds llm.c's GPT-2 trainer from a folder with its source, against Gyre's nccl.h and libnccl.so.2.

Usage: build_llmc.py --source DIR --out DIR --lib DIR [--arch 90]

Makes OUT/train_gpt2_fp32 and OUT/train_gpt2_bf16: several GPUs, no MPI, no cuDNN. They need CUDA's cuBLAS.
"""

import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT = 1200


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help="the source of llm.c")
    parser.add_argument("--out", required=True, help="outside the repository")
    parser.add_argument("--lib", required=True, help="the folder of libnccl.so.2, to link with")
    parser.add_argument("--cuda", default=os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    parser.add_argument("--arch", default="90")
    return parser.parse_args()


def main():
    options = arguments()
    out = os.path.realpath(options.out)
    if out.startswith(os.path.realpath(ROOT) + os.sep):
        sys.exit("--out must lie outside the repository")
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as links:
        # The folder of --lib may have no libnccl.so, which the linker looks for, and must not be written to.
        os.symlink(os.path.join(os.path.realpath(options.lib), "libnccl.so.2"), os.path.join(links, "libnccl.so"))
        for precision in ("FP32", "BF16"):
            command = ["nice", os.path.join(options.cuda, "bin", "nvcc"), "-O3", "--use_fast_math", "-std=c++17",
                       f"-arch=sm_{options.arch}", "-DMULTI_GPU", f"-DENABLE_{precision}",
                       "-include", os.path.join(HERE, "llmc_cuda13.cuh"), "train_gpt2.cu",
                       f"-I{ROOT}/include", f"-L{links}", f"-L{options.cuda}/lib64",
                       "-Xlinker", f"-rpath-link={os.path.realpath(options.lib)}",
                       "-lcublas", "-lcublasLt", "-lnccl", "-o", os.path.join(out, f"train_gpt2_{precision.lower()}")]
            done = subprocess.run(command, cwd=options.source, timeout=LIMIT, check=False)
            if done.returncode:
                sys.exit(f"nvcc ended with {done.returncode}: {' '.join(command)}")
            print(command[-1])


if __name__ == "__main__":
    main()
