"""The log of a Delta table: which commits another program has made, and whether they change rows.

Delta says for each file of a commit whether the commit changes rows (`dataChange`). Compaction, z-ordering, vacuum, new
columns, and table properties do not. Only kwire changes rows of its tables, and its commits carry a Delta transaction.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow.fs import FileSystem

APPLICATION = "kwire"
"""The id of the Delta transactions that number kwire's commits."""


class LogEntry(NamedTuple):
    """One commit in the log of a table.

    Attributes:
        version: the Delta version that it made.
        number: the number of kwire's commit; 0 for a commit of another program.
        changes_rows: True unless all of its files have `dataChange` false.
        operation: such as OPTIMIZE or DELETE; empty if the log does not say it.
        author: the program, and the user where the log names one.
        at: its time.
        added: the paths of the added files.
    """

    version: int
    number: int
    changes_rows: bool
    operation: str
    author: str
    at: datetime | None
    added: tuple[str, ...]

    def __str__(self) -> str:
        at = "" if self.at is None else f" at {self.at:%Y-%m-%d %H:%M:%S} UTC"
        return f"{self.operation or 'a commit'} of {self.author or 'another program'}{at} (version {self.version})"


def read_entry(files: FileSystem, table: str, version: int) -> LogEntry | None:
    """Read the commit of a version; None if the log does not have it any more.

    Args:
        files: the file system of the store.
        table: the folder of the table in it; empty for the root.
        version: the version.
    """
    try:
        with files.open_input_stream(f"{table}/_delta_log/{version:020}.json".lstrip("/")) as stream:
            text = bytes(stream.read())
    except FileNotFoundError:
        return None
    info: dict[str, Any] = {}
    number, changes_rows = 0, False
    added: list[str] = []
    for line in text.splitlines():
        action: dict[str, dict[str, Any]] = {}
        with suppress(ValueError):  # a torn line cannot be read by Delta either
            action = json.loads(line or b"{}")
        info = action.get("commitInfo", info)
        if action.get("txn", {}).get("appId") == APPLICATION:
            number = action["txn"]["version"]
        for kind in ("add", "remove"):
            changes_rows |= kind in action and action[kind].get("dataChange", True)
        if "add" in action:
            added.append(action["add"]["path"])
    return LogEntry(version, number, changes_rows, info.get("operation", ""), _author(info), _time(info), tuple(added))


def newest_entries(files: FileSystem, table: str, version: int, limit: int) -> Iterator[LogEntry]:
    """Return at most `limit` commits up to a version, newest first, until the log ends."""
    for earlier in range(version, max(version - limit, -1), -1):
        entry = read_entry(files, table, earlier)
        if entry is None:
            return
        yield entry


def last_with_same_rows(files: FileSystem, table: str, first: int, newest: int) -> tuple[int, LogEntry | None]:
    """Return the last version from `first` on to which all commits keep all rows, and the commit after it.

    The commit is None if there is none, or the log does not have it any more.
    """
    for version in range(first + 1, newest + 1):
        entry = read_entry(files, table, version)
        if entry is None or entry.changes_rows:
            return version - 1, entry
    return newest, None


def keeps_rows(files: FileSystem, table: str, first: int, newest: int) -> bool:
    """Return whether the log has all commits after a version up to another one, and they keep all rows."""
    return last_with_same_rows(files, table, first, newest)[0] == newest


def _author(info: dict[str, Any]) -> str:
    program = info.get("engineInfo") or info.get("clientVersion") or ""
    user = info.get("userName") or info.get("userId")
    return f"{program} ({user})" if program and user else str(program or user or "")


def _time(info: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromtimestamp(info["timestamp"] / 1000, UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
