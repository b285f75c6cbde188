"""Input to frames, one by one.

Rules of this file: hex and binary are one frame, or with sizes before them as many as there are; JSON is one document a
frame: hex in a string, or an object with ``request_hex`` and ``response_hex`` (an exchange: two frames), or with
``hex``. An object may say what its bytes are (``api_key`` and ``api_version``, or ``message`` and ``version``), and
wins over what the command line says. A document that is none of these becomes a frame with a problem.
"""

from __future__ import annotations

from struct import unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kwire.cli import frames
from kwire.cli.frames import Frame
from kwire.cli.names import named
from kwire.cli.sources import BadInput, from_hex, is_json, read_bytes, read_documents
from kwire.declare.introspect import check_version
from kwire.errors import KwireError
from kwire.frame import Splitter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from kwire.cli.frames import FrameKind
    from kwire.cli.sources import Content, Shape
    from kwire.declare import Message
    from kwire.messages import Kind

CHUNK = 1 << 16
_BYTES = ("request_hex", "response_hex", "hex")
_WHAT_THEY_ARE = ("api_key", "api_version", "message", "version", "kind")
_WHERE_THEY_STOOD = ("line", "index", "frame")
"""In the input of the program that wrote this input."""


class Expected(NamedTuple):
    """What the user says of the input. ``kind``: None where both requests and responses, or bodies, may come."""

    dialect: str
    kind: FrameKind | None = None
    cls: type[Message] | None = None
    version: int | None = None


class Capture(NamedTuple):
    """``shape``: whether the input was one frame, one a line, or a list of them."""

    shape: Shape
    frames: Iterator[Frame]


def captured(source: BufferedReader, expected: Expected, content: Content | None, *, sized: bool) -> Capture:
    """The frames of the input. Raises BadInput where it is not what it should be."""
    if sized:
        _refuse_unless_enough_is_said(expected)
        return Capture("lines", _split(source, expected))
    if content == "json" or (content is None and is_json(source)):
        shape, items = read_documents(source)
        where = "index" if shape == "list" else "line"
        return Capture("list" if shape == "list" else "lines", _of_documents(items, expected, where))
    _refuse_unless_enough_is_said(expected)
    return Capture("one", iter([_of_bytes(read_bytes(source, content), expected)]))


def _refuse_unless_enough_is_said(expected: Expected) -> None:
    """Bytes alone do not say what they are; only a request does."""
    if expected.kind == "request":
        return
    if expected.cls is None:
        raise click.UsageError(
            "What are these bytes? Say --message NAME and --version N for a body; for whole frames --request,"
            " or --response with message and version."
        )
    if expected.version is None:
        versions = expected.cls.versions
        raise click.UsageError(f"{expected.cls.__name__} has versions {versions}: say which by --version.")


def _split(source: BufferedReader, expected: Expected) -> Iterator[Frame]:
    """Frames behind their sizes, as on a connection."""
    splitter = Splitter()
    number = unfinished = 0
    while chunk := source.read1(CHUNK):
        unfinished += len(chunk)
        for payload in splitter.feed(chunk):
            unfinished -= 4 + len(payload)
            number += 1
            yield _of_bytes(payload, expected)._replace(where={"frame": number})
    if unfinished:
        raise BadInput(f"the input ends within frame {number + 1}, after {unfinished} bytes of it")


def _of_documents(items: Iterator[tuple[int, Any]], expected: Expected, where: str) -> Iterator[Frame]:
    for number, document in items:
        for frame in _of_document(document, expected):
            yield frame._replace(where={where: number})


def _of_document(document: Any, expected: Expected) -> Iterator[Frame]:
    match document:
        case str():
            yield _guarded("body", document, expected, {})
        case dict() if any(name in document for name in _BYTES):
            for name in _BYTES:
                kind = _kind_of(name, expected)
                if isinstance(document.get(name), str) and expected.kind in (None, kind):
                    yield _guarded(kind, document[name], expected, document)
        case BadInput():
            yield _unreadable(expected, document)
        case _:
            yield _unreadable(expected, BadInput(f"neither hex nor an object with one of {', '.join(_BYTES)}"))


def _kind_of(name: str, expected: Expected) -> FrameKind:
    if name == "request_hex":
        return "request"
    if name == "response_hex":
        return "response"
    # Also what says "request" beside hex may be a bare body: only the user knows, by --request.
    return expected.kind or "body"


def _guarded(kind: FrameKind, text: str, expected: Expected, document: dict[str, Any]) -> Frame:
    """A frame out of a document, whatever is wrong with it."""
    ours = (*_BYTES, *_WHAT_THEY_ARE, *_WHERE_THEY_STOOD)
    about = {name: value for name, value in document.items() if name not in ours}
    try:
        frame = _of(expected.kind or kind, from_hex(text), expected, document)
    except KwireError as problem:
        return Frame(kind, b"", problem=problem, about=about)
    return frame._replace(about=about)


def _unreadable(expected: Expected, problem: BadInput) -> Frame:
    return Frame(expected.kind or "body", b"", problem=problem)


def _of_bytes(payload: bytes, expected: Expected) -> Frame:
    return _of(expected.kind or "body", payload, expected, {})


def _of(kind: FrameKind, payload: bytes, expected: Expected, document: dict[str, Any]) -> Frame:
    if kind == "request":
        return frames.of_request(payload, expected.dialect)
    if kind == "response":
        return frames.of_response(payload, expected.dialect, *_asked(document, expected))
    cls, version = _said(document, expected)
    check_version(cls, version)
    return frames.of_body(cls, version, payload)


def _asked(document: dict[str, Any], expected: Expected) -> tuple[int, int]:
    """Key and version of the request that a response answers: as said, or out of the request beside it."""
    match document:
        case {"api_key": int(api_key), "api_version": int(version)}:
            return api_key, version
        case {"request_hex": str(request)} if len(request) >= 8:
            api_key, version = unpack_from(">hh", from_hex(request))
            return api_key, version
    cls, version = _said(document, expected)
    return cls.api_key, version


def _said(document: dict[str, Any], expected: Expected) -> tuple[type[Message], int]:
    version = document.get("version", document.get("api_version", expected.version))
    cls = expected.cls
    kind: Kind | None = "response" if expected.kind == "response" else None
    if isinstance(document.get("message"), str):
        cls = named(document["message"], expected.dialect, version=_number(version), kind=kind)
    if cls is None:
        raise BadInput("nothing says which message this is: no field of the line, and no --message")
    if _number(version) is None and cls.versions.lowest == cls.versions.highest:
        version = cls.versions.lowest
    number = _number(version)
    if number is None:
        raise BadInput(f"nothing says which version of {cls.__name__} this is: it has {cls.versions}")
    return cls, number


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
