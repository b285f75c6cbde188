"""Skip the tests that this machine cannot run."""

from __future__ import annotations

import sys

# Limiting address space, reading peak memory, and Valgrind work only on Linux.
collect_ignore = [] if sys.platform == "linux" else ["test_memory.py", "test_short_of_memory.py", "test_time.py"]
