"""Where input comes from, and what it is: hex, binary or JSON.

Rules of this file: nothing is read that is not yet needed, so that a capture of any size passes in little memory and a
pipe is answered line by line. What stands in the input decides what it is, unless the user says so.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import click

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Content: TypeAlias = Literal["hex", "binary", "json"]
Shape: TypeAlias = Literal["one", "lines", "list"]

LONGEST_DOCUMENT_IN_LINES = 1 << 20
"""Bytes up to which input whose first line is no JSON may still be one document over several lines."""

_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F\s:,_-]*")
_SEPARATORS = re.compile(r"[\s:,_-]+")
_JSON_BEGINS = (b"{", b"[", b'"')


class BadInput(KwireError, ValueError):
    """Input that is not what it should be, before any message is looked at: no hex, no JSON, a broken archive."""


class Documents(NamedTuple):
    """JSON values with their numbers: of lines from 1, of places in a list from 0; BadInput where there is none."""

    shape: Shape
    items: Iterator[tuple[int, Any]]


def open_source(words: tuple[str, ...]) -> BufferedReader:
    """The bytes that the arguments of a command mean: of a file, of stdin, or those that stand there as text."""
    if not words or words == ("-",):
        if not words and sys.stdin.isatty():
            raise click.UsageError("Nothing to read: give hex, JSON, the name of a file, or - for stdin.")
        return cast("BufferedReader", sys.stdin.buffer)
    if len(words) == 1 and _exists(words[0]):
        return _open_file(Path(words[0]))
    text = " ".join(words)
    if not _HEX.fullmatch(text) and not text.lstrip().startswith(("{", "[", '"')):
        raise click.UsageError(f"{text!r} is neither hex, nor JSON, nor a file that exists.")
    return BufferedReader(BytesIO(text.encode(errors="surrogateescape")))


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        # Too long for a name, or with characters that no name has: then it is none.
        return False


def _open_file(path: Path) -> BufferedReader:
    try:
        file = path.open("rb")
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror}.") from None
    if path.suffix == ".xz":
        from lzma import LZMAFile

        return BufferedReader(LZMAFile(file))
    if path.suffix == ".gz":
        from gzip import GzipFile

        return BufferedReader(GzipFile(fileobj=file))
    return file


def is_json(source: BufferedReader) -> bool:
    """Whether the input begins like JSON; judged by what is there without waiting for more."""
    begin = source.peek()[:4096]
    return begin.lstrip().startswith(_JSON_BEGINS) and not re.search(rb"[\x00-\x08\x0e-\x1f]", begin)


def read_bytes(source: BufferedReader, content: Content | None) -> bytes:
    """All of the input, as the bytes it stands for."""
    data = whole(source)
    if content == "binary":
        return data
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        text = None
    if text is not None and (content == "hex" or _HEX.fullmatch(text)):
        return from_hex(text)
    if content == "hex":
        raise BadInput("these are no hex digits: the input is not even text")
    return data


def from_hex(text: str) -> bytes:
    """Bytes out of hex digits as people copy them: with blanks, colons, commas or line ends between, or a 0x before."""
    digits = _SEPARATORS.sub("", text.strip().removeprefix("0x").removeprefix("0X"))
    odd = re.search(r"[^0-9a-fA-F]", digits)
    if odd is not None:
        raise BadInput(f"{odd[0]!r} is no hex digit, at place {odd.start() + 1} of {len(digits)}")
    if len(digits) % 2:
        raise BadInput(f"{len(digits)} hex digits are no whole number of bytes")
    return bytes.fromhex(digits)


def read_documents(source: BufferedReader) -> Documents:
    """JSON out of the input: one document, a list, or one a line."""
    lines = enumerate(lines_of(source), 1)
    for number, line in lines:
        if not line.strip():
            continue
        if line.lstrip().startswith(b"["):
            return Documents("list", enumerate(_list(line + whole(source))))
        first = from_json_text(line)
        if isinstance(first, BadInput):
            return _one_over_many_lines(number, line, lines)
        return Documents("lines", _and_the_rest(number, first, lines))
    return Documents("lines", iter(()))


def _list(text: bytes) -> list[Any]:
    found = from_json_text(text)
    if isinstance(found, BadInput):
        raise found
    return cast("list[Any]", found)


def _one_over_many_lines(number: int, line: bytes, lines: Iterator[tuple[int, bytes]]) -> Documents:
    """A document that is written over several lines; where there is none, the lines one by one after all."""
    ahead = [(number, line)]
    size = len(line)
    for numbered in lines:
        ahead.append(numbered)
        size += len(numbered[1])
        if size > LONGEST_DOCUMENT_IN_LINES:
            break
    else:
        document = from_json_text(b"".join(each for _, each in ahead))
        if not isinstance(document, BadInput):
            return Documents("one", iter([(number, document)]))
    return Documents("lines", _each(_chained(ahead, lines)))


def _and_the_rest(number: int, first: Any, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    yield number, first
    yield from _each(lines)


def _chained(ahead: list[tuple[int, bytes]], lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    yield from ahead
    yield from lines


def _each(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    for number, line in lines:
        if line.strip():
            yield number, from_json_text(line.strip())


def from_json_text(text: bytes) -> Any:
    """The value, or BadInput."""
    try:
        return json.loads(text)
    except ValueError as error:
        return BadInput(f"no JSON: {error}")
    except RecursionError:
        return BadInput("no JSON that a message could be: nested too deep")


def lines_of(source: BufferedReader) -> Iterator[bytes]:
    with archive_errors():
        yield from source


def whole(source: BufferedReader) -> bytes:
    with archive_errors():
        return source.read()


@contextmanager
def archive_errors() -> Iterator[None]:
    """Says of a damaged .xz or .gz file that it is damaged."""
    from gzip import BadGzipFile
    from lzma import LZMAError
    from zlib import error as DamagedStream  # noqa: N812  # a class, whatever zlib calls it

    try:
        yield
    except (EOFError, BadGzipFile, LZMAError, DamagedStream) as error:
        raise BadInput(f"the archive is damaged: {error}") from None
