"""The journal of configuration changes on clusters of Apache Kafka, which keeps no audit itself.

It is a file for each cluster, in `$XDG_STATE_HOME/kwire/configs`, of the user who makes the changes. Nodes of kwire
keep an audit in ZooKeeper, so their changes are not in it. A change is two lines of JSON: before its request is sent,
and after the response. A change without a second line was interrupted, and its outcome is unknown.

    {"id": "7f3a...", "at": "2026-11-25T12:00:00.000+00:00", "author": "ann@ops-1", "changes": [...]}
    {"id": "7f3a...", "refused": {"topic/orders": "unknown config ..."}}
"""

from __future__ import annotations

import errno
import getpass
import json
import os
import socket
import uuid
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kwire._util.file_names import file_name_of
from kwire._util.file_sync import sync_file
from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.storage.staging import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_admin.operations.run import Run

HIDDEN = "<secret>"
"""Stands for the value of a secret, in the journal and in documents."""
NO_ID = "without-id"
"""The name of the file of clusters that report no id."""


class JournaledChange(NamedTuple):
    """A setting that changes; a secret is written as `<secret>`."""

    resource: str
    name: str
    old: str | None
    new: str | None


@dataclass(slots=True)
class JournalEntry:
    """Changes of one request.

    Attributes:
        at: the time before the request, in ISO 8601.
        author: the user and the machine.
        changes: the changes.
        refused: by resource, why the cluster has refused its changes; None if the outcome is not known.
    """

    at: str
    author: str
    changes: Sequence[JournaledChange]
    refused: dict[str, str] | None = None


def journal_path(cluster_id: str | None) -> Path:
    """Return the file of a cluster, which need not exist."""
    return Path(state_folder()) / "configs" / f"{file_name_of(cluster_id or NO_ID)}.jsonl"


@contextmanager
def journaled(run: Run, cluster_id: str | None, changes: Sequence[JournaledChange]) -> Iterator[dict[str, str]]:
    """Write changes before the block makes them, and the outcome after it. A block that raises has no outcome.

    The block fills in the refusals by resource.

    Without a journal the changes are made all the same, after a warning: a full disk must not stop an operator.
    """
    refused: dict[str, str] = {}
    path = journal_path(cluster_id)
    id = uuid.uuid4().hex
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _append(path, {"id": id, "at": at, "author": _author(), "changes": [change._asdict() for change in changes]})
    except OSError as error:
        # The line may be there: an error of a sync or of a close comes after it.
        run.warn(f"the journal {path} cannot be written, so it might lack the changes: {error.strerror}")
    yield refused
    try:
        _append(path, {"id": id, "refused": refused})
    except OSError as error:  # the changes are made: their rows must be shown
        run.warn(f"the journal {path} cannot be written, so it has no outcome of these changes: {error.strerror}")


class ConfigJournal(NamedTuple):
    """The entries of a cluster, oldest first, and the number of lines that cannot be read."""

    entries: list[JournalEntry]
    damaged: int


def read_journal(cluster_id: str | None) -> ConfigJournal:
    """Return the journal of a cluster. A line that a crash or a full disk has cut off is counted as damaged."""
    try:
        data = journal_path(cluster_id).read_bytes()
    except FileNotFoundError:
        return ConfigJournal([], 0)
    entries: dict[str, JournalEntry] = {}
    damaged = 0
    # Bytes, because names may contain characters at which text would be split into lines, and half a character.
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            _read_line(json.loads(line), entries)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            damaged += 1
    return ConfigJournal(list(entries.values()), damaged)


def _read_line(written: Any, entries: dict[str, JournalEntry]) -> None:
    """Add a line to the entries. Raises TypeError, KeyError, or AttributeError if it is something else."""
    if "changes" in written:
        changes = [JournaledChange(**change) for change in written["changes"]]
        entries[written["id"]] = JournalEntry(str(written["at"]), str(written["author"]), changes)
    elif written["id"] in entries:
        entries[written["id"]].refused = {**written["refused"]}


def _append(path: Path, value: Any) -> None:
    """Append a line, which is on disk afterwards. Lines of other processes are not mixed with it: it is one write.

    Raises:
        OSError: the line is not there as a whole.
    """
    data = json.dumps(value).encode() + b"\n"  # in ASCII: other programs split text at more characters than \n
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            data = b"\n" + data  # after a line that was cut off
        if os.write(file, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync_file(file)
    finally:
        os.close(file)


def _author() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without name, as in a container
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
