"""The log of a Delta table: which commits another program has made, and whether they change rows.

Delta says for each file of a commit whether the commit changes rows (`dataChange`). Compaction, z-ordering, vacuum, new
columns, and table properties do not. Only kwire changes rows of its tables, and its commits carry a Delta transaction.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltalake import DeltaTable

    from kwire.storage.location import Location

APPLICATION = "kwire"
"""The id of the Delta transactions that number kwire's commits."""


REMEMBERED_ENTRIES = 4096
"""Number of commits that are remembered: a table that seldom changes may have many of other programs."""


_ABSOLUTE_PATH = re.compile(r"/|[a-z][a-z0-9]*:/")


def is_absolute(path: str) -> bool:
    """Return whether the path of a file leads out of its table, as in shallow clones."""
    return _ABSOLUTE_PATH.match(path) is not None


class LogEntry(NamedTuple):
    """One commit in the log of a table.

    Attributes:
        version: the Delta version that it made.
        number: the number of kwire's commit; 0 for a commit of another program.
        changes_rows: True unless all of its files have `dataChange` false.
        changes_table: True if it changes columns, properties, or features, or adds deletion vectors or absolute paths.
        operation: such as OPTIMIZE or DELETE; empty if the log does not say it.
        author: the program, and the user where the log names one.
        at: its time.
        added: the paths of the added files.
    """

    version: int
    number: int
    changes_rows: bool
    changes_table: bool
    operation: str
    author: str
    at: datetime | None
    added: tuple[str, ...]

    def __str__(self) -> str:
        at = "" if self.at is None else f" at {self.at:%Y-%m-%d %H:%M:%S} UTC"
        return f"{self.operation or 'a commit'} of {self.author or 'another program'}{at} (version {self.version})"


def _parse_entry(version: int, text: bytes) -> LogEntry:
    info: dict[str, Any] = {}
    number, changes_rows, changes_table = 0, False, False
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
        changes_table |= "metaData" in action or "protocol" in action
        if "add" in action:
            added.append(unquote(action["add"]["path"]))
            changes_table |= bool(action["add"].get("deletionVector")) or is_absolute(action["add"]["path"])
    operation = info.get("operation", "")
    return LogEntry(version, number, changes_rows, changes_table, operation, _author(info), _time(info), tuple(added))


class TableLog(NamedTuple):
    """The log of a table. A process reads each commit once.

    Attributes:
        location: the folder of the table.
        table_id: the id that Delta gave the table, which differs if the folder is deleted and created again.
    """

    location: Location
    table_id: str

    @classmethod
    def of(cls, location: Location, table: DeltaTable) -> TableLog:
        """Return the log of an open table; `location` is its folder."""
        return cls(location, str(table.metadata().id))

    def entry(self, version: int) -> LogEntry | None:
        """Return the commit of a version; None if the log does not have it any more."""
        info = self.location.files().get_file_info(f"_delta_log/{version:020}.json")
        try:
            return _remembered_entry(self, version, info.size, info.mtime_ns)
        except FileNotFoundError:
            return None

    def last_with_same_rows(self, first: int, newest: int) -> tuple[int, LogEntry | None]:
        """Return the last version from `first` on to which all commits keep all rows, and the commit after it.

        The commit is None if there is none, or the log does not have it any more.
        """
        for version in range(first + 1, newest + 1):
            entry = self.entry(version)
            if entry is None or entry.changes_rows:
                return version - 1, entry
        return newest, None

    def keeps_rows(self, first: int, newest: int) -> bool:
        """Return whether the log has all commits after a version up to another one, and they keep all rows."""
        return self.last_with_same_rows(first, newest)[0] == newest

    def newest_entries(self, version: int, limit: int) -> Iterator[LogEntry]:
        """Return at most `limit` commits up to a version, newest first, until the log ends."""
        for earlier in range(version, max(version - limit, -1), -1):
            entry = self.entry(earlier)
            if entry is None:
                return
            yield entry


@lru_cache(REMEMBERED_ENTRIES)
def _remembered_entry(table_log: TableLog, version: int, size: int | None, written_at: int | None) -> LogEntry:
    """Read a commit. Its size and time are in the key: a folder may be replaced by its backup, and then changed."""
    del size, written_at
    with table_log.location.files().open_input_stream(f"_delta_log/{version:020}.json") as stream:
        return _parse_entry(version, bytes(stream.read()))


def _author(info: dict[str, Any]) -> str:
    program = info.get("engineInfo") or info.get("clientVersion") or ""
    user = info.get("userName") or info.get("userId")
    return f"{program} ({user})" if program and user else str(program or user or "")


def _time(info: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromtimestamp(info["timestamp"] / 1000, UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
