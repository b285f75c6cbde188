"""The journal of changes on clusters of Kafka: every change is in it, whatever its names, the disk, or a crash."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwire_admin.operations.config_journal import JournaledChange, journal_path, journaled, read_journal
from kwire_admin.operations.run import Run

CLUSTER = "journaled"
SEPARATORS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters at which `str.splitlines` splits."""


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = journal_path(CLUSTER)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def record(run: Run, change: JournaledChange) -> None:
    with journaled(run, CLUSTER, [change]):
        pass


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from(SEPARATORS + 'ä€😀"a'), max_size=8), min_size=1, max_size=4), st.data())
def test_every_change_is_in_it_also_after_damage(names: list[str], data: st.DataObject) -> None:
    path = journal_path(CLUSTER)
    path.unlink(missing_ok=True)
    run = Run(None)
    for name in names:
        record(run, JournaledChange(f"acl/{name}", name, None, name))
        # A crash or a full disk leaves a part of a line, and a user edits the file.
        damage = data.draw(
            st.sampled_from([b"", b'{"id": "1", "cha', b"\xe2\x82", b"[]\n", b'"text"\n', b"{}\n", b"[" * 9000])
        )
        with path.open("ab") as file:
            file.write(damage)
    entries, damaged = read_journal(CLUSTER)
    assert [entry.changes for entry in entries] == [
        [JournaledChange(f"acl/{name}", name, None, name)] for name in names
    ]
    assert all(entry.refused == {} for entry in entries)
    assert damaged <= len(names)


@pytest.mark.parametrize("written", [0, 1, 20])
def test_full_disk_never_hides_a_change_that_was_made(
    written: int, monkeypatch: pytest.MonkeyPatch, journal: Path
) -> None:
    """A disk can be full before the change, and can become full with it: a write is short or fails."""
    warnings: list[str] = []
    run = Run(None, warn=warnings.append)
    record(run, JournaledChange("topic/a", "x", None, "1"))
    real_write = os.write

    def write(file: int, data: bytes) -> int:
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(file, data[:written])

    made = False
    with journaled(run, CLUSTER, [JournaledChange("topic/b", "x", None, "2")]):
        made = True
        monkeypatch.setattr(os, "write", write)
    assert made
    [warning] = warnings
    assert "no outcome of these changes: No space left on device" in warning
    with journaled(run, CLUSTER, [JournaledChange("topic/c", "x", None, "3")]):
        monkeypatch.undo()
        monkeypatch.setenv("XDG_STATE_HOME", str(journal.parents[2]))
    assert "so it might lack the changes" in warnings[1]
    record(run, JournaledChange("topic/d", "x", None, "4"))
    entries, _ = read_journal(CLUSTER)
    assert {entry.changes[0].resource: entry.refused for entry in entries} == {
        "topic/a": {},
        "topic/b": None,
        "topic/d": {},
    }
