"""Texts of files that people edit, in the encodings that editors of Windows and PowerShell write.

A byte order mark decides between UTF-8, UTF-16, and UTF-32. A file without one is UTF-8. Anything else is refused as a
whole, with the encoding named: a text that is read with another encoding has another meaning.
"""

from __future__ import annotations

import codecs

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["EncodingError", "decode_properties", "decode_text", "marked_encoding", "read_properties", "read_text"]

# UTF-32 is first: its little-endian mark begins with the mark of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class EncodingError(ValueError):
    """A file is not a text in the encoding that it declares. The text never shows the content, which may be secret."""


def read_text(path: Path) -> str:
    r"""Return the text of a file with `\n` as the end of a line.

    Raises:
        OSError: the file cannot be read.
        EncodingError: its encoding is not UTF-8, and it has no byte order mark of UTF-16 or UTF-32.
    """
    return decode_text(path.read_bytes())


def decode_text(data: bytes) -> str:
    r"""Return the text of the bytes of a file with `\n` as the end of a line.

    Raises:
        EncodingError: see `read_text`.
    """
    return _decode(data, "utf-8")


def read_properties(path: Path) -> str:
    """Return the text of a properties file, which is ISO 8859-1 without a byte order mark, as in Java.

    Raises:
        OSError: the file cannot be read.
        EncodingError: it is UTF-16 without a byte order mark, or damaged.
    """
    return decode_properties(path.read_bytes())


def decode_properties(data: bytes) -> str:
    """Return the text of the bytes of a properties file.

    Raises:
        EncodingError: see `read_properties`.
    """
    return _decode(data, "latin-1")


def marked_encoding(start: bytes) -> str | None:
    """Return the encoding that the byte order mark of a file declares; None without a mark.

    Args:
        start: at least the first 4 bytes, or the whole file.
    """
    return next((encoding for mark, encoding in MARKS if start.startswith(mark)), None)


def _decode(data: bytes, default: str) -> str:
    encoding = marked_encoding(data) or default
    if encoding in (default, "utf-8-sig") and b"\0" in data:
        raise EncodingError(
            "expected a text in UTF-8, found NUL characters: a file in UTF-16 needs a byte order mark; save it as UTF-8"
        )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise EncodingError(
            f"expected a text in {name}, found other bytes at offset {error.start}: save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
