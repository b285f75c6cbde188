"""Python code that runs during a decode sees no incomplete objects.

A decode allocates, and an allocation can start a collection, which calls `gc.callbacks`. Since 3.12, collections start
only between instructions of Python code, so no callback runs during a decode there. The work is done in a child
process, because reading an incomplete tuple crashes the interpreter.
"""

from __future__ import annotations

import sys

import pytest

from tests.soundness import incomplete
from tests.soundness.children import outcome


@pytest.mark.parametrize("name", ["adopted", "collected"])
def test_gc_callback_sees_only_complete_objects(name: str) -> None:
    collections = int(outcome(incomplete.__name__, incomplete.objects_seen_in_callbacks.__name__, name))
    assert collections > 20 or sys.version_info >= (3, 12)
