"""Input of commands: arguments, files, and stdin, which hold hex, binary, or JSON.

Input is read only as far as it is needed, so that memory does not grow with the size of a capture and each line of a
pipe is processed before the next one arrives. The format is detected unless the user names it.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from itertools import chain
from pathlib import Path

import click

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire._util.light_typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

InputFormat: TypeAlias = Literal["hex", "binary", "json"]
Shape: TypeAlias = Literal["one", "lines", "list"]

CHUNK = 1 << 16
"""Bytes to read at once."""
MAX_MULTILINE_DOCUMENT = 1 << 20
"""Bytes read ahead to find out whether the input is one JSON document on several lines."""

_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F\s:,_-]*")
_SEPARATORS = re.compile(r"[\s:,_-]+")
_JSON_START = (b"{", b"[", b'"')


class InvalidInput(KwireError, ValueError):
    """Input that cannot be read before any message is decoded, such as malformed hex, JSON, or archives."""


class Documents(NamedTuple):
    """JSON values with their line number from 1 or list index from 0; InvalidInput in the place of malformed ones."""

    shape: Shape
    items: Iterator[tuple[int, Any]]


def open_source(words: tuple[str, ...]) -> BufferedReader:
    """Open the input that the arguments of a command name: a file, stdin, or the arguments themselves.

    Raises:
        click.UsageError: no input is given, or the arguments are not a file, hex, or JSON.
    """
    if not words or words == ("-",):
        if not words and sys.stdin.isatty():
            raise click.UsageError("no input: expected hex, JSON, a file name, or - for stdin")
        return cast("BufferedReader", sys.stdin.buffer)
    if len(words) == 1 and _exists(words[0]):
        return _open_file(Path(words[0]))
    text = " ".join(words)
    if not _HEX.fullmatch(text) and not text.lstrip().startswith(("{", "[", '"')):
        raise click.UsageError(f"{text!r} is neither hex, nor JSON, nor an existing file")
    return BufferedReader(BytesIO(text.encode(errors="surrogateescape")))


def _exists(word: str) -> bool:
    try:
        return word != "" and Path(word).exists()
    except (OSError, ValueError):
        return False  # too long for a file name, or with invalid characters


def _open_file(path: Path) -> BufferedReader:
    try:
        file = path.open("rb")
    except IsADirectoryError:
        raise click.UsageError(f"{path} is a folder: name a file, or read a capture with `kwire replay`") from None
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror}") from None
    if path.suffix == ".xz":
        from lzma import LZMAFile

        return BufferedReader(LZMAFile(file))
    if path.suffix == ".gz":
        from gzip import GzipFile

        return BufferedReader(GzipFile(fileobj=file))
    return file


def is_json(source: BufferedReader) -> bool:
    """Return whether the input starts like JSON; looks only at bytes that are available without waiting."""
    start = source.peek()[:4096]
    return start.lstrip().startswith(_JSON_START) and not re.search(rb"[\x00-\x08\x0e-\x1f]", start)


def read_bytes(source: BufferedReader, input_format: InputFormat | None) -> bytes:
    """Read the whole input and decode it if it is hex."""
    data = read_all(source)
    if input_format == "binary":
        return data
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        text = None
    if text is not None and (input_format == "hex" or _HEX.fullmatch(text)):
        return from_hex(text)
    if input_format == "hex":
        raise InvalidInput("expected hex digits, found bytes that are not ASCII text")
    return data


def from_hex(text: str) -> bytes:
    """Decode hex digits with an optional 0x, and with blanks, colons, commas, dashes, or line ends between them."""
    digits = _SEPARATORS.sub("", text.strip().removeprefix("0x").removeprefix("0X"))
    invalid = re.search(r"[^0-9a-fA-F]", digits)
    if invalid is not None:
        raise InvalidInput(f"{invalid[0]!r} is not a hex digit, at position {invalid.start() + 1} of {len(digits)}")
    if len(digits) % 2:
        raise InvalidInput(f"odd number of hex digits: {len(digits)}")
    return bytes.fromhex(digits)


def read_documents(source: BufferedReader) -> Documents:
    """Read JSON: one document, a list of documents, or one document per line."""
    lines = enumerate(lines_of(source), 1)
    for number, line in lines:
        if not line.strip():
            continue
        if line.lstrip().startswith(b"["):
            return Documents("list", enumerate(_parse_list(line + read_all(source))))
        first = parse_json(line)
        if isinstance(first, InvalidInput):
            return _multiline_document(number, line, lines)
        return Documents("lines", _with_first(number, first, lines))
    return Documents("lines", iter(()))


def _parse_list(text: bytes) -> list[Any]:
    parsed = parse_json(text)
    if isinstance(parsed, InvalidInput):
        raise parsed
    return cast("list[Any]", parsed)


def _multiline_document(number: int, line: bytes, lines: Iterator[tuple[int, bytes]]) -> Documents:
    """Read a document on several lines; if the lines are not one document, return each of them."""
    ahead = [(number, line)]
    size = len(line)
    for numbered in lines:
        ahead.append(numbered)
        size += len(numbered[1])
        if size > MAX_MULTILINE_DOCUMENT:
            break
    else:
        document = parse_json(b"".join(chunk for _, chunk in ahead))
        if not isinstance(document, InvalidInput):
            return Documents("one", iter([(number, document)]))
    return Documents("lines", _parse_lines(chain(ahead, lines)))


def _with_first(number: int, first: Any, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    yield number, first
    yield from _parse_lines(lines)


def _parse_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    for number, line in lines:
        if line.strip():
            yield number, parse_json(line.strip())


def parse_json(text: bytes) -> Any:
    """Return the parsed value, or an InvalidInput that says why the text is malformed."""
    try:
        return parse_json_document(text)
    except MalformedJson as error:
        return InvalidInput(f"malformed JSON: {error}")


def lines_of(source: BufferedReader) -> Iterator[bytes]:
    with archive_errors():
        yield from source


def read_all(source: BufferedReader) -> bytes:
    # In chunks, because BufferedReader.read() does not handle interrupts between two reads of a pipe.
    with archive_errors():
        return b"".join(iter(lambda: source.read1(CHUNK), b""))


@contextmanager
def archive_errors() -> Iterator[None]:
    """Turn the errors of a damaged .xz or .gz file into InvalidInput."""
    from gzip import BadGzipFile
    from lzma import LZMAError
    from zlib import error as DamagedStream  # noqa: N812  # zlib's exception class has a lower-case name

    try:
        yield
    except (EOFError, BadGzipFile, LZMAError, DamagedStream) as error:
        raise InvalidInput(f"the archive is damaged: {error}") from None
