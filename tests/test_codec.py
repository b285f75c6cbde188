"""Errors of `decode`, `encode`, and `validate` for invalid arguments."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire import frame, records, reference
from kwire.declare import Message, Struct, int32

if TYPE_CHECKING:
    from collections.abc import Callable


class Part(Struct):
    number: int32


class Whole(Message, versions="0-1"):
    number: int32


WHOLE = Whole(number=7)
READERS: list[Callable[..., object]] = [kwire.decode, kwire.validate]
READERS_OF_BYTES: dict[str, Callable[[memoryview], object]] = {
    "decode": lambda data: kwire.decode(Whole, data, version=0),
    "reference.decode": lambda data: reference.decode(Whole, data, version=0),
    "validate": lambda data: kwire.validate(Whole, data, version=0),
    "view": lambda data: kwire.view(Whole, data, version=0),
    "Decoder.decode": lambda data: kwire.Decoder(Whole, version=0).decode(data),
    "columns": lambda data: kwire.columns(Whole, [data], version=0, rows=""),
    "frame.decode_request": frame.decode_request,
    "records.decode": records.decode,
    "records.batches": lambda data: list(records.batches(data)),
    "records.batch_headers": records.batch_headers,
    "records.columns": lambda data: records.columns([data]),
}


@pytest.mark.parametrize("read", READERS)
def test_decode_and_validate_reject_other_classes(read: Callable[..., object]) -> None:
    for cls in (Part, int):
        with pytest.raises(kwire.DeclarationError, match=f"{cls.__name__}: this class is not a message"):
            read(cls, bytes(4), version=0)
    with pytest.raises(TypeError, match="cls: expected a message class, found an instance of str"):
        read("Whole", bytes(4), version=0)


def test_encode_rejects_other_objects() -> None:
    wrong: list[Any] = [Part(number=7), "whole"]
    for message in wrong:
        with pytest.raises(kwire.DeclarationError, match=f"{type(message).__name__}: this class is not a message"):
            kwire.encode(message, version=0)
    with pytest.raises(TypeError, match="message: expected an instance, found the class Whole"):
        kwire.encode(Whole, version=0)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("version", ["0", None, [0], 0.5])
def test_versions_of_other_types_are_rejected(version: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: kwire.encode(WHOLE, version=version),
        *(lambda read=read: read(Whole, bytes(4), version=version) for read in READERS),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="version: expected an int, found "):
            call()


def test_undeclared_version_error_names_the_declared_versions() -> None:
    with pytest.raises(kwire.UnsupportedVersion, match="version 2 is not supported: Whole has versions 0-1"):
        kwire.decode(Whole, bytes(4), version=2)


def test_released_memoryview_has_the_error_of_cpython() -> None:
    for name, read in READERS_OF_BYTES.items():
        with memoryview(bytes(4)) as data:
            pass
        with pytest.raises(ValueError, match="operation forbidden on released memoryview object") as raised:
            read(data)
        assert type(raised.value) is ValueError, name


def test_arrays_of_ctypes_are_read() -> None:
    data: Any = (ctypes.c_ubyte * 4)(0, 0, 0, 7)
    assert kwire.decode(Whole, data, version=0) == reference.decode(Whole, data, version=0) == WHOLE
    assert kwire.view(Whole, data, version=0).number == 7
    assert kwire.Decoder(Whole, version=0).decode(data) == WHOLE
