#!/usr/bin/env python3
"""Shows that check_symbols.py accepts a good library and names each defect of a bad one."""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_symbols.py")
NAMES = ["ncclGetVersion", "ncclSend"]
SOURCE = """
#define API __attribute__((visibility("default")))
API int ncclGetVersion(int* version) { *version = 22809; return 0; }
API int pncclGetVersion(int* version) { return ncclGetVersion(version); }
API int ncclSend(void) { return 0; }
API int pncclSend(void) { return 0; }
"""
GOOD_LINK = ["-Wl,-soname,libnccl.so.2"]
VERSIONS = "NCCL_2 { global: *; };"
# name of the case -> (source, link options, what the check must say; None: it must accept)
CASES = {
    "good": (SOURCE, GOOD_LINK, None),
    "soname": (SOURCE, ["-Wl,-soname,libnccl.so"], "soname is"),
    "missing": (SOURCE.replace("API int ncclSend", "static int ncclSend"), GOOD_LINK,
                "ncclSend is not exported"),
    "missing twin": (SOURCE.replace("API int pncclSend", "static int pncclSend"), GOOD_LINK,
                     "pncclSend is not exported"),
    "extra": (SOURCE + "API int gyre_secret(void) { return 1; }", GOOD_LINK,
              "gyre_secret is exported but not listed"),
    "data": (SOURCE.replace("API int ncclSend(void) { return 0; }", "API int ncclSend = 3;"),
             GOOD_LINK, "ncclSend is OBJECT"),
    "versions": (SOURCE, [*GOOD_LINK, "-Wl,--version-script,versions.map"],
                 "defines symbol versions"),
    "needed": (SOURCE, [*GOOD_LINK, "-Wl,--no-as-needed", "./libcuda.so.1"], "needs libcuda.so.1"),
    "unresolved": ("int nowhere(void);" + SOURCE.replace("return 0; }", "return nowhere(); }"),
                   GOOD_LINK, "undefined symbol: nowhere"),
    "version": (SOURCE.replace("22809", "1"), GOOD_LINK, "ncclGetVersion says 1"),
}


def build(compiler, source, options, folder, name):
    subprocess.run([compiler, "-shared", "-fPIC", "-fvisibility=hidden", "-w", "-x", "c", "-", "-x",
                    "none", "-o", name, *options], input=source, text=True, check=True, cwd=folder)
    return os.path.join(folder, name)


def main():
    compiler = sys.argv[1]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "symbols.txt"), "w", encoding="ascii") as file:
            file.write("\n".join(NAMES) + "\n")
        with open(os.path.join(folder, "versions.map"), "w", encoding="ascii") as file:
            file.write(VERSIONS)
        build(compiler, "int unused;", ["-Wl,-soname,libcuda.so.1"], folder, "libcuda.so.1")
        for index, (case, (source, options, message)) in enumerate(CASES.items()):
            path = build(compiler, source, options, folder, f"case{index}.so")
            done = subprocess.run([sys.executable, CHECK, os.path.join(folder, "symbols.txt"),
                                   "libnccl.so.2", path], capture_output=True, text=True,
                                  check=False)
            accepted = done.returncode == 0
            if accepted != (message is None) or (message and message not in done.stderr):
                failures.append(f"{case}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    for failure in failures:
        print(failure, file=sys.stderr)
    if failures:
        sys.exit(1)
    print(f"{len(CASES)} libraries judged rightly")


if __name__ == "__main__":
    main()
