"""Reads the frames of the input one by one.

* Hex and binary input is one frame, or a sequence of frames with size prefixes.
* A document of JSON input is a frame (hex in a string, or an object with `hex`), or an exchange with `request_hex` and
  `response_hex`, which is two frames.
* An object may name its message by `api_key` and `api_version`, or by `message` and `version`; this overrides the
  command line.
* Any other document becomes a frame with an error.
"""

from __future__ import annotations

from struct import unpack_from

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.cli import frames
from kwire.cli.frames import Frame
from kwire.cli.input_sources import CHUNK, InvalidInput, from_hex, is_json, open_source, read_bytes, read_documents
from kwire.cli.message_options import MessageChoice, says_version
from kwire.declare.introspect import check_version
from kwire.errors import DecodeError, KwireError
from kwire.frame import Splitter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from kwire.cli.frames import FrameKind
    from kwire.cli.input_sources import InputFormat, Shape

_HEX_KEYS = ("request_hex", "response_hex", "hex")
_MESSAGE_KEYS = ("api_key", "api_version", "message", "version", "kind")
_POSITION_KEYS = ("line", "index", "frame")
"""The position of a frame in the input of the program that wrote the document."""


class FrameInput(NamedTuple):
    """The frames of the input, and whether it is one frame, one frame per line, or a list of frames."""

    shape: Shape
    frames: Iterator[Frame]


class FrameSelection(NamedTuple):
    """The values of `message_options`, `frame_options`, and `input_options`.

    Attributes:
        words: the input: hex, JSON, the name of a file, or `-` for stdin.
        input_format: the format of the input; None to detect it.
        message: the name of the message; None if headers or documents name it.
        version: its version; None as above.
        dialect: the dialect of the messages.
        kind: requests, responses, or bodies; None for bodies.
        sized: true if a size of four bytes precedes each frame.
    """

    words: tuple[str, ...]
    input_format: InputFormat | None
    message: str | None
    version: int | None
    dialect: str
    kind: FrameKind | None
    sized: bool

    def read(self) -> FrameInput:
        """Read the frames.

        Raises:
            InvalidInput: the input is malformed.
            click.UsageError: options exclude each other, the message does not exist, or binary or hex input needs one.
        """
        if self.kind == "request" and (self.message is not None or self.version is not None):
            raise click.UsageError(
                "--request cannot be combined with --message and --version: the header names message and version"
            )
        expected = MessageChoice.of_options(self.message, self.dialect, self.version, self.kind)
        return _read_frames(open_source(self.words), expected, self.input_format, sized=self.sized)


def _read_frames(
    source: BufferedReader, expected: MessageChoice, input_format: InputFormat | None, *, sized: bool
) -> FrameInput:
    if sized:
        _check_message_is_named(expected)
        return FrameInput("lines", _split(source, expected))
    if input_format == "json" or (input_format is None and is_json(source)):
        shape, items = read_documents(source)
        position_key = "index" if shape == "list" else "line"
        return FrameInput("list" if shape == "list" else "lines", _parse_documents(items, expected, position_key))
    if expected.cls is None and not source.peek(1):
        raise InvalidInput("the input is empty: expected hex, JSON, or bytes")
    _check_message_is_named(expected)
    return FrameInput("one", iter([_parse_bytes(read_bytes(source, input_format), expected)]))


def _check_message_is_named(expected: MessageChoice) -> None:
    """Check that the command line names the message, which only requests do not need."""
    if expected.kind == "request":
        return
    if expected.cls is None:
        raise click.UsageError(
            "unknown message: expected --message NAME and --version N for a body, --request for requests,"
            " or --response with message and version for responses"
        )
    if expected.version is None and not says_version(expected.cls):
        versions = expected.cls.versions
        raise click.UsageError(f"{expected.cls.__name__} has versions {versions}: choose one with --version")


def _split(source: BufferedReader, expected: MessageChoice) -> Iterator[Frame]:
    """Split frames by their size prefixes, as on a connection."""
    splitter = Splitter()
    number = unfinished = 0
    while chunk := source.read1(CHUNK):
        unfinished += len(chunk)
        for payload in splitter.feed(chunk):
            unfinished -= 4 + len(payload)
            number += 1
            yield _parse_bytes(payload, expected)._replace(position={"frame": number})
    if unfinished:
        raise InvalidInput(f"the input ends within frame {number + 1}, after {unfinished} bytes")


def _parse_documents(items: Iterator[tuple[int, Any]], expected: MessageChoice, position_key: str) -> Iterator[Frame]:
    for number, document in items:
        for frame in _parse_document(document, expected):
            yield frame._replace(position={position_key: number})


def _parse_document(document: Any, expected: MessageChoice) -> Iterator[Frame]:
    match document:
        case str():
            yield _parse_hex("body", document, expected, {})
        case dict() if any(name in document for name in _HEX_KEYS):
            for name in _HEX_KEYS:
                kind = _kind_of(name, expected)
                if isinstance(document.get(name), str) and expected.kind in (None, kind):
                    yield _parse_hex(kind, document[name], expected, document)
        case InvalidInput():
            yield _invalid_frame(expected, document)
        case _:
            keys = ", ".join(_HEX_KEYS)
            yield _invalid_frame(expected, InvalidInput(f"expected hex or an object with one of {keys}"))


def _kind_of(name: str, expected: MessageChoice) -> FrameKind:
    if name == "request_hex":
        return "request"
    if name == "response_hex":
        return "response"
    # `hex` may be a bare body even where `kind` is "request"; only --request or --response make it a whole frame.
    return expected.kind or "body"


def _parse_hex(kind: FrameKind, text: str, expected: MessageChoice, document: dict[str, Any]) -> Frame:
    """Return the frame of a document; a frame with an error if the document is invalid."""
    known_keys = (*_HEX_KEYS, *_MESSAGE_KEYS, *_POSITION_KEYS)
    about = {name: value for name, value in document.items() if name not in known_keys}
    try:
        frame = _parse_frame(expected.kind or kind, from_hex(text), expected, document)
    except KwireError as error:
        return Frame(kind, b"", error=error, about=about)
    return frame._replace(about=about)


def _invalid_frame(expected: MessageChoice, error: InvalidInput) -> Frame:
    return Frame(expected.kind or "body", b"", error=error)


def _parse_bytes(payload: bytes, expected: MessageChoice) -> Frame:
    return _parse_frame(expected.kind or "body", payload, expected, {})


def _parse_frame(kind: FrameKind, payload: bytes, expected: MessageChoice, document: dict[str, Any]) -> Frame:
    if kind == "request":
        return frames.parse_request(payload, expected.dialect)
    if kind == "response":
        return frames.parse_response(payload, expected.dialect, *_request_key_and_version(document, expected))
    cls, version = expected.of_document(document)
    if version is None:
        try:
            return frames.parse_versioned(cls, payload)
        except DecodeError as error:
            raise InvalidInput(f"{cls.__name__} begins with its version unless --version names it: {error}") from None
    check_version(cls, version)
    return frames.parse_body(cls, version, payload)


def _request_key_and_version(document: dict[str, Any], expected: MessageChoice) -> tuple[int, int]:
    """Return the API key and version of a response's request: as given, or from the request in the same document."""
    match document:
        case {"api_key": int(api_key), "api_version": int(version)}:
            return api_key, version
        case {"request_hex": str(request)} if len(request) >= 8:
            api_key, version = unpack_from(">hh", from_hex(request))
            return api_key, version
    cls, number = expected.of_document(document)
    assert number is not None  # only messages without an API key say it themselves
    return cls.api_key, number
