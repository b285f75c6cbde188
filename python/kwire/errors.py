"""Exceptions of kwire.

Exceptions carry their facts as attributes; the text is generated from them.

    KwireError
    ├── DecodeError          the bytes are invalid
    │   └── RecordsDecodeError   the bytes are not record batches
    ├── EncodeError          a value is invalid for its field or for the version
    ├── UnsupportedVersion   the message does not have the version
    └── DeclarationError     a message class is declared incorrectly
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, TypeAlias

    PathElement: TypeAlias = str | int
    DecodeKind: TypeAlias = Literal[
        "truncated",
        "count_exceeds_input",
        "negative_length",
        "too_long",
        "null_not_allowed",
        "invalid_utf8",
        "varint_overflow",
        "tag_order",
        "tag_size",
        "invalid_marker",
        "trailing_bytes",
        "invalid_magic",
        "crc_mismatch",
        "invalid_compression",
        "corrupt_compression",
        "limit_exceeded",
        "invalid_offset",
    ]
    EncodeKind: TypeAlias = Literal[
        "out_of_range",
        "too_long",
        "null_not_allowed",
        "not_in_version",
        "wrong_type",
        "invalid_utf8",
        "tag_clash",
    ]

__all__ = [
    "DECODE_KINDS",
    "ENCODE_KINDS",
    "RECORDS_DECODE_KINDS",
    "DeclarationError",
    "DecodeError",
    "EncodeError",
    "KwireError",
    "RecordsDecodeError",
    "UnsupportedVersion",
]

DECODE_KINDS: tuple[DecodeKind, ...] = (
    "truncated",
    "count_exceeds_input",
    "negative_length",
    "too_long",
    "null_not_allowed",
    "invalid_utf8",
    "varint_overflow",
    "tag_order",
    "tag_size",
    "invalid_marker",
    "trailing_bytes",
)
RECORDS_DECODE_KINDS: tuple[DecodeKind, ...] = (
    "truncated",
    "count_exceeds_input",
    "negative_length",
    "too_long",
    "null_not_allowed",
    "varint_overflow",
    "trailing_bytes",
    "invalid_magic",
    "crc_mismatch",
    "invalid_compression",
    "corrupt_compression",
    "limit_exceeded",
    "invalid_offset",
)
ENCODE_KINDS: tuple[EncodeKind, ...] = (
    "out_of_range",
    "too_long",
    "null_not_allowed",
    "not_in_version",
    "wrong_type",
    "invalid_utf8",
    "tag_clash",
)


def path_text(path: Iterable[PathElement]) -> str:
    """Return a path as text: `topics[3].partitions[0].leader_id`; empty for the message itself."""
    text = ""
    for element in path:
        if isinstance(element, int):
            text += f"[{element}]"
        else:
            text += f".{element}" if text else element
    return text


class KwireError(Exception):
    """Base class of all exceptions of kwire.

    Attributes:
        is_unreachable: True if a service besides brokers, such as ZooKeeper, accepted no connection.
    """

    is_unreachable = False


class DecodeError(KwireError, ValueError):
    """The bytes are not a valid body of the message and version.

    Attributes:
        kind: one of `DECODE_KINDS`.
        offset: the offset of the invalid value in the input.
        path: field names and indexes from the message to the invalid value.
        wanted: the number of bytes that the value needs, or None if the error is not about length. For `tag_size`, the
            size of the tagged field; for `trailing_bytes`, 0.
        left: the number of bytes left in the message or tagged field, or None if the error is not about length. For
            `tag_size`, the number of bytes that the value did not use.
    """

    def __init__(
        self,
        kind: DecodeKind,
        offset: int,
        path: tuple[PathElement, ...] = (),
        wanted: int | None = None,
        left: int | None = None,
    ) -> None:
        super().__init__(kind, offset, path, wanted, left)
        self.kind: DecodeKind = kind
        self.offset = offset
        self.path = path
        self.wanted = wanted
        self.left = left

    def __str__(self) -> str:
        where = path_text(self.path)
        return f"{where}: {self.kind}{self._details()}" if where else f"{self.kind}{self._details()}"

    def shifted(self, distance: int) -> DecodeError:
        """Return the same error of a body that begins `distance` bytes after the start of the input."""
        return DecodeError(self.kind, self.offset + distance, self.path, self.wanted, self.left)

    def _details(self) -> str:
        text = f" at byte {self.offset}"
        if self.kind == "tag_size":
            text += f": {self.left} of {self.wanted} bytes not used"
        elif self.kind == "trailing_bytes":
            text += f": {self.left} left over"
        elif self.wanted is not None:
            text += f": {self.wanted} bytes wanted, {self.left} left"
        return text


class RecordsDecodeError(DecodeError):
    """The bytes are not valid record batches, or exceed a limit.

    Attributes:
        kind: one of `RECORDS_DECODE_KINDS`.
        offset: the offset of the invalid value in the input, or in the decompressed records of its batch.
        path: field names and indexes, from `batches` to the invalid value.
        decompressed: true if `offset` counts from the start of the decompressed records.
        wanted: as in DecodeError; for `limit_exceeded`, the limit in bytes.
        left: as in DecodeError.
    """

    def __init__(
        self,
        kind: DecodeKind,
        offset: int,
        path: tuple[PathElement, ...] = (),
        wanted: int | None = None,
        left: int | None = None,
        decompressed: bool = False,
    ) -> None:
        super().__init__(kind, offset, path, wanted, left)
        self.args = (kind, offset, path, wanted, left, decompressed)
        self.decompressed = decompressed

    def _details(self) -> str:
        text = super()._details()
        if self.kind == "limit_exceeded":
            text = f" at byte {self.offset}: more than {self.wanted} bytes"
        if self.decompressed:
            at = f" at byte {self.offset}"
            text = f"{at} of the decompressed records{text.removeprefix(at)}"
        return text


class EncodeError(KwireError, TypeError, ValueError):
    """A value is invalid for its field or for the version of the message.

    It is also a TypeError and a ValueError, because constructors raise it.

    Attributes:
        kind: one of `ENCODE_KINDS`.
        path: field names and indexes from the message to the value.
        reason: the rest of the error message.
    """

    def __init__(self, kind: EncodeKind, path: tuple[PathElement, ...] = (), reason: str = "") -> None:
        super().__init__(kind, path, reason)
        self.kind: EncodeKind = kind
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        where = path_text(self.path)
        text = f"{where}: {self.kind}" if where else self.kind
        return f"{text}: {self.reason}" if self.reason else text


class UnsupportedVersion(KwireError, ValueError):
    """A message class does not declare a version.

    Attributes:
        message: the name of the class.
        version: the requested version.
        supported: the declared versions, for example `0-13`.
    """

    def __init__(self, message: str, version: int, supported: str) -> None:
        super().__init__(message, version, supported)
        self.message = message
        self.version = version
        self.supported = supported

    def __str__(self) -> str:
        return f"version {self.version} is not supported: {self.message} has versions {self.supported}"


class DeclarationError(KwireError, TypeError):
    """A message class is declared incorrectly.

    Attributes:
        declaration: the name of the class.
        field: the name of the field, or None.
        reason: the rest of the error message.
    """

    def __init__(self, declaration: str, field: str | None, reason: str) -> None:
        super().__init__(declaration, field, reason)
        self.declaration = declaration
        self.field = field
        self.reason = reason

    def __str__(self) -> str:
        where = f"{self.declaration}.{self.field}" if self.field else self.declaration
        return f"{where}: {self.reason}"
