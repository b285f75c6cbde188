"""Settings that are maps: `topic_security['pci','profile','dss'] = true` (KAFKA-1694).

Each entry is stored under its canonical name, so entries are set and deleted one by one.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.config.setting import Setting
from kwire_cluster.config.value_types import TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAP_SETTINGS", "MapKey", "entries_of"]

MAX_NAME = 1000
"""Characters of the name of an entry."""

MAP_SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "topic_security",
            TEXT,
            help="Free-form facts about the security of topics, by any number of words. Nodes keep them for tools.",
            is_live=True,
        ),
    )
}

_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\s*\[(.+)\]", re.DOTALL)


class MapKey(NamedTuple):
    """An entry of a map: the setting, and the words between the brackets."""

    setting: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> MapKey | None:
        """Parse the name of an entry; None if it has no brackets.

        Raises:
            ValueError: the brackets contain other texts than quoted words.
        """
        match = _ENTRY.fullmatch(text.strip())
        if match is None:
            return None
        if len(text) > MAX_NAME:
            raise ValueError(f"the name of an entry has at most {MAX_NAME} characters")
        try:
            words = ast.literal_eval(f"({match[2]},)")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            words = ()
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError(f"expected quoted words between the brackets: {match[1]}['one','two']")
        return cls(match[1], words)

    def __str__(self) -> str:
        return f"{self.setting}[{','.join(map(repr, self.words))}]"


def entries_of(setting: str, values: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Return the entries of a map among stored values, by their words."""
    entries = {}
    for name, text in values.items():
        if name.startswith(f"{setting}["):
            key = MapKey.parse(name)
            if key is not None:
                entries[key.words] = text
    return entries
