"""Version ranges as declarations write them: `0`, `0-13`, `9+`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_VERSION = 0x7FFF
"""The largest version: headers store it as an int16."""


class VersionRange:
    """Versions from `lowest` to `highest`, both included. `9+` ends at `MAX_VERSION`."""

    __slots__ = ("highest", "lowest")

    def __init__(self, text: str) -> None:
        """Parse `text`.

        Raises:
            ValueError: the text is not a range.
        """
        first, dash, last = text.partition("-")
        if text.endswith("+"):
            first, last = text[:-1], str(MAX_VERSION)
        elif not dash:
            last = first
        if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()):
            raise ValueError(f"{text!r} is not a version range: expected a form like '0', '0-13', or '9+'")
        self.lowest = int(first)
        self.highest = int(last)
        if not self.lowest <= self.highest <= MAX_VERSION:
            raise ValueError(f"{text!r} is not a version range: expected ascending versions from 0 to {MAX_VERSION}")

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __len__(self) -> int:
        return self.highest - self.lowest + 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VersionRange):
            return NotImplemented
        return (self.lowest, self.highest) == (other.lowest, other.highest)

    def __hash__(self) -> int:
        return hash((self.lowest, self.highest))

    def __str__(self) -> str:
        if self.lowest == self.highest:
            return str(self.lowest)
        return f"{self.lowest}+" if self.highest == MAX_VERSION else f"{self.lowest}-{self.highest}"

    def __repr__(self) -> str:
        return f"VersionRange({str(self)!r})"
