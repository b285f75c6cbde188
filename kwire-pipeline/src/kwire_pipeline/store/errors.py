"""Errors of a store."""

from __future__ import annotations

from kwire.errors import KwireError


class StoreFault(KwireError):
    """A fault of a store, a table, or a file.

    Attributes:
        place: its path or URI.
        reason: the fault, who caused it where that is known, and the remedy.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


class StoreInUse(StoreFault, RuntimeError):
    """Other processes write to the store all the time."""


class MissingFiles(StoreFault, RuntimeError):
    """Files of a commit were deleted before it; nothing was committed."""


class DamagedStore(StoreFault, RuntimeError):
    """A store lacks something that it needs."""

    def __str__(self) -> str:
        return f"{super().__str__()}: run `kwire pipeline check --out {self.place}`"


class CommitGone(StoreFault, ValueError):
    """The rows of an older commit were deleted, such as by `vacuum` or the retention of a log."""


class UnusableTable(StoreFault):
    """A table of another state than kwire can use."""


class UnreadableLog(UnusableTable, ValueError):
    """The log of a table is damaged, or another program has given the table what deltalake does not read."""


class UnwritableTable(UnusableTable, RuntimeError):
    """A setting of a table prevents kwire from writing; nothing was written."""


class ConcurrentCommit(KwireError, RuntimeError):
    """Another writer has changed what a commit depends on: it must be computed again."""


class NotAStore(StoreFault, ValueError):
    """A path that cannot be used as a store."""

    def __init__(self, out: str, reason: str = "is a file: expected a folder for the tables") -> None:
        super().__init__(out, reason)

    def __str__(self) -> str:
        return f"{self.place} {self.reason}"


class IncompatibleTable(StoreFault, RuntimeError):
    """The columns of a stored table differ from the columns that this version of kwire writes."""

    def __str__(self) -> str:
        return f"{super().__str__()}: use the version of kwire that wrote it, or a newer one"
