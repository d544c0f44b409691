"""Memory that one array gave back, kept for the next."""

from __future__ import annotations

import numpy as np

LARGEST = 2**25 - 2**16  # bytes; glibc raises its thresholds to what is freed, up to 32 MB


def keep_freed_memory() -> None:
    """Let glibc give freed memory to the next array instead of back to the system.

    The system hands memory out page by page, and a new page costs several times what filling it
    does: arithmetic on arrays of 1 MB takes six times as long if each result is new to the
    process. glibc gives back what is freed beyond a threshold, and raises the threshold to the
    largest array that was freed so far. So one is made and freed; its pages are never touched.
    Other allocators take no notice.

    This holds for the whole process, so the library does it only where it is asked to: in the
    processes that it starts itself, and at the command line.
    """
    np.empty(LARGEST, dtype=np.uint8)
