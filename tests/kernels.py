"""Runs the numerical tests and the pages of the documentation under other kernels of the BLAS.

Which instructions a processor has decides in which order OpenBLAS adds, and so the last digit of
every product. No result and no page may hang on it. `make test` has run all under the kernel that
is taken here by itself; this is a program for two others that the processor has.
"""

import os
import subprocess
import sys

# From the newest; a kernel without its instructions ends the interpreter.
NEEDS = {
    "SkylakeX": {"AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"},
    "Haswell": {"AVX2", "FMA3"},
    "Nehalem": {"SSE42"},
}
TESTS = ("minimise", "games", "shapley", "methods", "score", "test_docs.py", "test_readme.py")
ASK = """
import scipy.linalg, threadpoolctl
pools = threadpoolctl.threadpool_info()
print(*{pool["architecture"] for pool in pools if pool["internal_api"] == "openblas"})
"""


def kernels_in_use(environment):
    """The kernels of NumPy's and SciPy's OpenBLAS; nothing if they have another BLAS."""
    command = [sys.executable, "-c", ASK]
    said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)  # noqa: S603
    return said.stdout.decode().split()


def features():
    """The instructions that this processor has, by NumPy's names."""
    from numpy._core._multiarray_umath import __cpu_features__

    return {name for name, there in __cpu_features__.items() if there}


def chosen(by_itself, there):
    """The newest and the oldest kernel that a processor has, but for those it takes by itself."""
    had = [name for name, needs in NEEDS.items() if needs <= there and name not in by_itself]
    return had if len(had) < 2 else [had[0], had[-1]]


def say(text):
    print(text, flush=True)  # noqa: T201


def main(options):
    plain = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    by_itself = kernels_in_use(plain)
    others = chosen(by_itself, features()) if by_itself else []
    if not others:
        say("There is one kernel of the BLAS here, and `make test` has run all under it.")
    for kernel in others:
        environment = plain | {"OPENBLAS_CORETYPE": kernel}
        if kernels_in_use(environment) != [kernel]:
            sys.exit(f"Asked OpenBLAS for {kernel}, got {kernels_in_use(environment)}.")
        say(f"Under {kernel}, where {' and '.join(by_itself)} is taken by itself:")
        tests = [f"tests/{name}" for name in TESTS]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        done = subprocess.run(command, env=environment, check=False)  # noqa: S603
        if done.returncode:
            sys.exit(f"These fail under {kernel} (OPENBLAS_CORETYPE={kernel}).")


if __name__ == "__main__":
    main(sys.argv[1:])
