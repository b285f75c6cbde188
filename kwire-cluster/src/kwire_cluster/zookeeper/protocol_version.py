"""Versions of the inter-broker protocol (IBP), as in `inter.broker.protocol.version`.

A version is a release with or without an internal version: `2.7`, `2.7-IV1`, `0.10.2-IV0`. A release without an
internal version stands for its last one, as in Kafka.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_VERSION = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4}){1,3})(?:-IV([0-9]{1,4}))?")
_LAST = 1 << 16
"""The internal version of a release without one: higher than all."""


class ProtocolVersion(NamedTuple):
    """A version of the inter-broker protocol, ordered.

    Attributes:
        release: the release: two numbers, three below 1.0.
        internal: the internal version.
    """

    release: tuple[int, ...]
    internal: int = _LAST

    @classmethod
    def parse(cls, text: str) -> ProtocolVersion:
        """Parse a version; a bug fix number (`2.7.1`) is dropped.

        Raises:
            ValueError: the text is not a version.
        """
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError("expected a release such as 2.7 or 2.7-IV0")
        numbers = tuple(map(int, match[1].split(".")))
        release = numbers[: 2 if numbers[0] else 3]
        return cls(release, _LAST if match[2] is None else int(match[2]))

    @property
    def first(self) -> ProtocolVersion:
        """The first version of the release, unless an internal version is given."""
        return self._replace(internal=0) if self.internal == _LAST else self

    def __str__(self) -> str:
        release = ".".join(map(str, self.release))
        return release if self.internal == _LAST else f"{release}-IV{self.internal}"
