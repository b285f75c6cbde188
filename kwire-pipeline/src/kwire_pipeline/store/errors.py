"""Errors of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Sequence


class StoreInUse(KwireError, RuntimeError):
    """Other processes write to the store `out` all the time."""

    def __init__(self, out: str, attempts: int) -> None:
        super().__init__(out, attempts)
        self.out = out
        self.attempts = attempts

    def __str__(self) -> str:
        attempts = counted(self.attempts, "attempt")
        return f"{self.out}: {attempts} conflicted with commits of other processes: try again later"


class MissingFiles(KwireError, RuntimeError):
    """Files of a commit were deleted before it; nothing was committed."""

    def __init__(self, out: str, paths: Sequence[str]) -> None:
        super().__init__(out, paths)
        self.out = out
        self.paths = paths

    def __str__(self) -> str:
        return (
            f"{self.out}: {len(self.paths)} of the files to commit do not exist, such as {self.paths[0]}: another"
            " program deleted them; run the ingest or the build again"
        )


class DamagedStore(KwireError, RuntimeError):
    """A store lacks something that it needs; `fault` says what, and who removed it where that is known."""

    def __init__(self, out: str, fault: str) -> None:
        super().__init__(out, fault)
        self.out = out
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.out}: {self.fault}: run `kwire pipeline check --out {self.out}`"


class CommitGone(KwireError, ValueError):
    """The rows of an older commit were deleted, such as by `vacuum` or the retention of a log."""

    def __init__(self, out: str, number: int, reason: str) -> None:
        super().__init__(out, number, reason)
        self.out = out
        self.number = number
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.out}: commit {self.number} can no longer be read: {self.reason}: read a newer commit"


class UnusableTable(KwireError):
    """A table of another state than kwire can use.

    Attributes:
        uri: the table.
        reason: the fault, and its remedy.
    """

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(uri, reason)
        self.uri = uri
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.uri}: {self.reason}"


class UnreadableLog(UnusableTable, ValueError):
    """The log of a table is damaged, or another program has given the table what deltalake does not read."""


class UnwritableTable(UnusableTable, RuntimeError):
    """A setting of a table prevents kwire from writing; nothing was written."""


class ConcurrentCommit(KwireError, RuntimeError):
    """Another writer has changed what a commit depends on: it must be computed again."""


class NotAStore(KwireError, ValueError):
    """`out` cannot be used as a store."""

    def __init__(self, out: str, reason: str = "is a file: expected a folder for the tables") -> None:
        super().__init__(out, reason)
        self.out = out
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.out} {self.reason}"
