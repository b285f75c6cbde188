"""Counts of valid, invalid, and unknown frames."""

from __future__ import annotations

import sys

from kwire._util.light_typing import TYPE_CHECKING
from kwire.cli.entry import EXIT_INVALID_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire.cli.frames import Frame


class FrameCounts:
    """Counts frames as they pass.

    Unknown frames are those of messages and versions that are not declared. With `skip_unknown` they are dropped and do
    not count as errors.
    """

    def __init__(self, *, skip_unknown: bool) -> None:
        self.skip_unknown = skip_unknown
        self.valid = self.invalid = self.unknown = 0

    def count(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.is_unknown:
                self.unknown += 1
                if self.skip_unknown:
                    continue
            elif frame.error is not None:
                self.invalid += 1
            else:
                self.valid += 1
            yield frame

    @property
    def exit_code(self) -> int:
        return EXIT_INVALID_INPUT if self.invalid or (self.unknown and not self.skip_unknown) else 0

    def __str__(self) -> str:
        total = self.valid + self.invalid + self.unknown
        text = f"{total} frame{'' if total == 1 else 's'}: {self.valid} ok, {self.invalid} wrong"
        if self.unknown:
            text += f", {self.unknown} of unknown messages or versions"
        return text + (" (skipped)" if self.unknown and self.skip_unknown else "")

    def report(self) -> int:
        """Print the counts to stderr unless all frames are valid, and return the exit code."""
        if self.invalid or self.unknown:
            sys.stdout.flush()
            print(self, file=sys.stderr)
        return self.exit_code
