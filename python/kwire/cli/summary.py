"""How many of many frames were right, wrong, or of no message that is declared here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kwire.cli.program import EXIT_WRONG_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire.cli.frames import Frame


class Tally:
    """Counts frames as they pass. ``skip_unknown``: those that nobody here knows do not pass, and are no errors."""

    def __init__(self, *, skip_unknown: bool) -> None:
        self.skip_unknown = skip_unknown
        self.right = self.wrong = self.unknown = 0

    def counted(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.is_unknown:
                self.unknown += 1
                if self.skip_unknown:
                    continue
            elif frame.problem is not None:
                self.wrong += 1
            else:
                self.right += 1
            yield frame

    @property
    def exit_code(self) -> int:
        return EXIT_WRONG_INPUT if self.wrong or (self.unknown and not self.skip_unknown) else 0

    def __str__(self) -> str:
        text = f"{_frames(self.right + self.wrong + self.unknown)}: {self.right} ok, {self.wrong} wrong"
        if self.unknown:
            text += f", {self.unknown} of unknown messages or versions"
        return text + (" (skipped)" if self.unknown and self.skip_unknown else "")

    def report(self) -> int:
        """Say on stderr what was not right, if anything; the exit code."""
        if self.wrong or self.unknown:
            sys.stdout.flush()
            print(self, file=sys.stderr)
        return self.exit_code


def _frames(number: int) -> str:
    return f"{number} frame{'' if number == 1 else 's'}"
