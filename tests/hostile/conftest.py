"""Which of these tests a machine can run."""

from __future__ import annotations

import sys

# Address space is limited, and peaks are read, by means of Linux; no other system has both.
collect_ignore = [] if sys.platform == "linux" else ["test_memory.py"]
