"""The folder of a run: its journal, the plan, the file that undoes it, and a lock.

    STATE/CLUSTER/_lock            owned by the process that executes
    STATE/CLUSTER/audit.log        one line for each step of all runs
    STATE/CLUSTER/RUN/journal.jsonl
    STATE/CLUSTER/RUN/plan.json
    STATE/CLUSTER/RUN/rollback.json

Every event is on disk before the next request is sent.
"""

from __future__ import annotations

import getpass
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kwire._util.file_names import file_name_of
from kwire._util.file_sync import sync_file
from kwire._util.folder_lock import FolderInUse, FolderLock
from kwire._util.mount import MountOperation, require_operations
from kwire._util.readable import printable
from kwire.storage.staging import state_folder
from kwire_admin.reassignment.errors import InvalidJournal, ReassignError
from kwire_admin.reassignment.execution.journal import EventKind, JournalEvent, RunState, audit_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

JOURNAL = "journal.jsonl"
PLAN = "plan.json"
ROLLBACK = "rollback.json"
AUDIT = "audit.log"
NO_ID = "without-id"
"""The folder of clusters that report no id."""


def cluster_folder(state: Path | None, cluster_id: str | None) -> Path:
    """Return the folder of the runs of a cluster, which need not exist.

    Args:
        state: the folder for all clusters; None for `$XDG_STATE_HOME/kwire/reassign`.
        cluster_id: the id of the cluster.
    """
    if state is None:
        state = Path(state_folder()) / "reassign"
    return state / file_name_of(cluster_id or NO_ID)


def newest_run(folder: Path) -> Path | None:
    """Return the folder of the newest run of a cluster; None if there is none.

    A run without a complete event was killed before it began, and does not count.
    """
    runs = sorted((journal.parent for journal in folder.glob(f"*/{JOURNAL}")), reverse=True)
    return next((run for run in runs if _has_events(run)), None)


def read_run(run: Path) -> RunState:
    """Return the state of a run. A last line that was cut off by a crash is ignored.

    Raises:
        InvalidJournal: the journal cannot be read.
    """
    *lines, _ = (run / JOURNAL).read_text(encoding="utf-8").split("\n")
    if not lines:
        raise InvalidJournal(f"{run / JOURNAL} has no events: remove the folder")
    return RunState.of(map(JournalEvent.from_line, lines))


def running_process(folder: Path) -> str | None:
    """Return the process that executes a run of a cluster, such as `process 7`; None if there is none."""
    if not folder.is_dir():
        return None
    try:
        FolderLock(folder).release()
    except FolderInUse as error:
        return error.owner
    return None


class RunFolder:
    """A run that this process executes. Use it as a context manager, which releases the lock.

    Attributes:
        path: the folder of the run.
        state: the state after all events.
    """

    def __init__(self, path: Path, lock: FolderLock, state: RunState, note: Callable[[str], None]) -> None:
        self.path = path
        self.state = state
        self._lock = lock
        self._note = note

    @classmethod
    def create(cls, folder: Path, files: dict[str, str], details: dict[str, Any], note: Callable[[str], None]) -> Self:
        """Start a run.

        Args:
            folder: the folder of the cluster.
            files: the texts of PLAN and ROLLBACK.
            details: the details of the first event.
            note: receives the text of every event.

        Raises:
            FolderInUse: another process executes a run.
            ReassignError: an earlier run is not complete.
            UnsupportedMount: the file system lacks an operation.
            OSError: the folder cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        require_operations(folder, "journals of reassignments", MountOperation.APPEND)
        lock = FolderLock(folder)
        try:
            earlier = newest_run(folder)
            if earlier is not None and not is_over(state := read_run(earlier)):
                raise ReassignError(
                    f"run {earlier.name} is not complete ({state.phase}): continue it with `resume`, or end it with "
                    "`cancel`"
                )
            path = folder / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
            path.mkdir()
            for name, text in files.items():
                (path / name).write_text(text, encoding="utf-8")
            run = cls(path, lock, RunState(), note)
            run.record(EventKind.STARTED, **details)
        except BaseException:
            lock.release()
            raise
        return run

    @classmethod
    def take_over(cls, path: Path, note: Callable[[str], None]) -> Self:
        """Continue a run.

        Raises:
            FolderInUse: another process executes it.
            InvalidJournal: the journal cannot be read.
        """
        lock = FolderLock(path.parent)
        try:
            state = read_run(path)
            _remove_cut_off_line(path / JOURNAL)
        except BaseException:
            lock.release()
            raise
        return cls(path, lock, state, note)

    def record(self, kind: EventKind, **details: Any) -> None:
        """Write an event to the journal and to the audit, and apply it."""
        event = JournalEvent(datetime.now(UTC).isoformat(timespec="milliseconds"), _user(), kind, details)
        _append(self.path / JOURNAL, event.to_line())
        text = printable(audit_text(event))  # brokers choose reasons, which must not forge a line
        _append(self.path.parent / AUDIT, f"{event.time} {event.user} {self.path.name} {text}\n")
        self.state.apply(event)
        self._note(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()


def is_over(state: RunState) -> bool:
    """Return whether nothing is left to do for a run: no move, and no throttle to remove."""
    return state.phase.is_final and not state.throttles


def _append(path: Path, line: str) -> None:
    """Append a line that is on disk afterwards, or nothing.

    A full disk takes a part of it. The events of the end of the run, which come after it, must not continue that part.
    """
    with path.open("ab", buffering=0) as file:
        end, rest = file.seek(0, os.SEEK_END), line.encode()
        try:
            while rest:
                rest = rest[file.write(rest) :]
            sync_file(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(end)
            raise


def _has_events(run: Path) -> bool:
    with (run / JOURNAL).open("rb") as file:
        return file.readline().endswith(b"\n")


def _remove_cut_off_line(path: Path) -> None:
    data = path.read_bytes()
    complete = data[: data.rfind(b"\n") + 1]
    if len(complete) < len(data):
        with path.open("r+b") as file:
            file.truncate(len(complete))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without name, as in a container
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"
