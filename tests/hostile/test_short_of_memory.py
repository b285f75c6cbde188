"""Every public function raises MemoryError when memory is short: no abort, no panic, no other error.

mimalloc keeps a gigabyte of addresses in reserve, from which Rust's allocations succeed whatever the limit. Without it,
they fail like those of Python.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.hostile import short_of_memory


@pytest.mark.parametrize("name", short_of_memory.CALLS)
def test_lack_of_memory_is_a_memory_error(name: str) -> None:
    run = subprocess.run(
        [sys.executable, short_of_memory.__file__, name],
        env={**os.environ, "MIMALLOC_DISALLOW_ARENA_ALLOC": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    failed, *bad = run.stdout.splitlines()
    assert bad == []
    assert int(failed) >= 2
