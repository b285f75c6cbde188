"""Names for completion on disk: a file for each cluster and kind, which only its owner can read.

A file has the choice of the cluster in its first line and then the sorted names, a line each. Its time is the time of
the names. While names are fetched, a marker lies beside the file; if that fails, the marker contains the reason.
"""

from __future__ import annotations

import os
import time

from kwire import __version__
from kwire._util.atomic_file import replace_file
from kwire.terminal.environment import VARIABLES, cache_folder, config_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

__all__ = ["SHOWN", "USABLE", "NameFile", "choice_of", "write_atomically"]

FRESH = 30.0
"""Seconds for which names are used as they are; older names are used, and fetched again in the background."""
USABLE = 24 * 3600.0
"""Seconds after which names are not used before they have been fetched again."""
RETRY = 10.0
"""Seconds after which a failed attempt to fetch names is repeated."""

LOCAL = ("clusters", "messages")
"""Kinds of names that no cluster has. They change with what `choice_of` returns."""

MAX_BYTES = 16 << 20
"""The size of a file; further names are left out."""
MAX_FILES = 100
"""The number of files; the oldest are removed."""
SHOWN = 1000
"""The number of candidates that a shell gets."""


def write_atomically(path: str, data: bytes) -> None:
    """Replace a file. Only its owner can read it.

    Raises:
        OSError: the file cannot be written.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    replace_file(path, data, mode=0o600)


def _digest(data: bytes) -> int:
    """Return 32 bits for the name of a file (FNV-1a). The import of `zlib` takes longer than this loop."""
    digest = 0x811C9DC5
    for byte in data:
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return digest


def choice_of(kind: str, chosen: Mapping[str, Any]) -> str | None:
    """Return a text that is the same whenever the same options choose the same cluster; None if nothing chooses one.

    It changes with the files that the options name, because they may name another cluster or user then.

    Args:
        kind: the kind of the names. Some depend on no cluster.
        chosen: the values of the options `bootstrap`, `cluster`, `command_config`, and `overrides`, if they are given.
    """
    if kind == "messages":
        return __version__
    if kind == "clusters":
        chosen = {}
    bootstrap, cluster, command_config = map(chosen.get, VARIABLES)
    overrides = chosen.get("overrides") or ()
    properties = _version(str(command_config)) if command_config else None
    if bootstrap and not cluster:
        return repr((bootstrap, properties, *overrides))
    config = _version(config_file())
    if config is None and properties is None:
        return None
    return repr((bootstrap, cluster, config, properties, *overrides))


def _version(path: str) -> tuple[str, int] | None:
    """Return the absolute path of a file and when it was changed; None if it does not exist."""
    try:
        return os.path.abspath(path), os.stat(path).st_mtime_ns
    except OSError:
        return None


class NameFile:
    """The names of one kind in one cluster.

    Args:
        choice: the line that `choice_of` returns.
        kind: the kind of the names, such as `topics`.
    """

    def __init__(self, choice: str, kind: str) -> None:
        self.kind = kind
        self._head = choice.encode("utf-8", "backslashreplace") + b"\n"
        self.path = os.path.join(cache_folder(), f"{_digest(self._head):08x}-{kind}")
        self._marker = f"{self.path}.fetching"

    def age(self) -> float:
        """Return the seconds since the names were fetched; infinity if there are none."""
        return _age(self.path)

    def must_be_fetched(self) -> bool:
        """Return whether the names are old, and no process has tried to fetch them just now."""
        fresh = USABLE if self.kind in LOCAL else FRESH
        return self.age() > fresh and _age(self._marker) > RETRY

    def mark(self, reason: str = "") -> None:
        """Note that the names are being fetched, or why that has failed."""
        write_atomically(self._marker, reason.encode())

    def failed(self) -> bool:
        """Return whether the last attempt has failed."""
        try:
            return os.path.getsize(self._marker) > 0
        except FileNotFoundError:
            return False

    def count(self) -> int | None:
        """Return the number of names; None without any names that were fetched."""
        data = self._read()
        return None if data is None else data.count(b"\n") - 1

    def _read(self) -> bytes | None:
        """Return the content of the file; None without it."""
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except OSError:
            return None
        return data if data.startswith(self._head) else None  # another cluster with the same checksum

    def matches(self, prefix: str) -> list[str]:
        """Return names that start with a prefix: all, or a selection with the same common prefix."""
        data = self._read()
        if data is None:
            return []
        wanted = b"\n" + prefix.encode("utf-8", "replace")
        start = data.find(wanted, len(self._head) - 1, len(data) - 1)
        if start < 0:
            return []
        last = data.rfind(wanted, start, len(data) - 1)
        end = data.index(b"\n", last + 1)
        lines = data[start + 1 : end].split(b"\n", SHOWN)
        if len(lines) > SHOWN:
            lines[-1] = data[last + 1 : end]
        return [line.decode() for line in lines]

    def write(self, names: Iterable[str]) -> None:
        """Store names. Names that cannot be shown in one line of a terminal are left out.

        Raises:
            OSError: the file cannot be written.
        """
        lines = [f"{name}\n" for name in sorted({name for name in names if name.isprintable() and name})]
        data = self._head + "".join(lines).encode()
        if len(data) > MAX_BYTES:
            data = data[: data.rindex(b"\n", 0, MAX_BYTES) + 1]
        write_atomically(self.path, data)
        if os.path.exists(self._marker):
            os.unlink(self._marker)
        _remove_oldest()

    def expire(self) -> None:
        """Have the names fetched again before they are used, because the cluster has changed."""
        if os.path.exists(self.path):
            os.utime(self.path, (0, 0))


def _age(path: str) -> float:
    try:
        return abs(time.time() - os.stat(path).st_mtime)
    except OSError:
        return float("inf")


def _remove_oldest() -> None:
    """Remove the oldest files beyond the limit."""
    files = sorted(os.scandir(cache_folder()), key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in files[MAX_FILES:]:
        os.unlink(entry.path)
