import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from whyflag.memory import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
a = np.ones((500, 300))

def arithmetic():
    for _ in range(10):
        b = a + (2 * a) * (a - 1)

arithmetic()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
arithmetic()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's allocator")
def test_arrays_take_the_memory_of_those_before_them():
    def faults(what):
        command = [sys.executable, "-c", FAULTS, what]
        done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603
        return int(done.stdout)

    assert faults("keep") < 0.05 * faults("let go")
