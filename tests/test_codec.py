"""What a caller of ``decode``, ``encode`` and ``validate`` is told about arguments that cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire.declare import Message, Struct, int32

if TYPE_CHECKING:
    from collections.abc import Callable


class Part(Struct):
    number: int32


class Whole(Message, versions="0-1"):
    number: int32


WHOLE = Whole(number=7)
READERS: list[Callable[..., object]] = [kwire.decode, kwire.validate]


@pytest.mark.parametrize("read", READERS)
def test_bytes_are_read_as_messages_only(read: Callable[..., object]) -> None:
    for cls in (Part, int):
        with pytest.raises(kwire.DeclarationError, match=f"{cls.__name__}: this is not a message"):
            read(cls, bytes(4), version=0)
    with pytest.raises(TypeError, match="cls: a message class is wanted, not an instance of str"):
        read("Whole", bytes(4), version=0)


def test_messages_are_written_and_nothing_else() -> None:
    wrong: list[Any] = [Part(number=7), "whole"]
    for message in wrong:
        with pytest.raises(kwire.DeclarationError, match=f"{type(message).__name__}: this is not a message"):
            kwire.encode(message, version=0)
    with pytest.raises(TypeError, match="message: an instance is wanted, not the class Whole"):
        kwire.encode(Whole, version=0)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("version", ["0", None, [0], 0.5])
def test_a_version_is_a_number(version: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: kwire.encode(WHOLE, version=version),
        *(lambda read=read: read(Whole, bytes(4), version=version) for read in READERS),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="version: an int is wanted, not "):
            call()


def test_a_version_that_is_not_declared_is_told_with_those_that_are() -> None:
    with pytest.raises(kwire.UnsupportedVersion, match="Whole has no version 2: it has 0-1"):
        kwire.decode(Whole, bytes(4), version=2)
