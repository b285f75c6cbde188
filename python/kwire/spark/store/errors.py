"""Errors of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        return f"{self.out}: {self.attempts} attempts conflicted with commits of other processes: try again later"


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
    """A file that the store needs does not exist."""

    def __init__(self, out: str, path: str) -> None:
        super().__init__(out, path)
        self.out = out
        self.path = path

    def __str__(self) -> str:
        return f"{self.out}: {self.path} does not exist: run `kwire pipeline check --out {self.out}`"


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
