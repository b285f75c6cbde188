"""The two codecs, engine and reference, with one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import kwire
from kwire import reference

if TYPE_CHECKING:
    from collections.abc import Callable


class Codec(NamedTuple):
    name: str
    decode: Callable[..., Any]
    encode: Callable[..., bytes]
    validate: Callable[..., None]

    def __repr__(self) -> str:
        return self.name


ENGINE = Codec("engine", kwire.decode, kwire.encode, kwire.validate)
REFERENCE = Codec("reference", reference.decode, reference.encode, reference.validate)
BOTH = (ENGINE, REFERENCE)

through_both = pytest.mark.parametrize("codec", BOTH, ids=repr)
"""Run a test with both codecs."""
