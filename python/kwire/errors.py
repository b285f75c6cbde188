"""What kwire raises.

Rules of this file: every error carries its facts as attributes, the text is made from them when somebody looks, and
the class says who has to change something.

    KwireError
    ├── DecodeError          the bytes are wrong: whoever wrote them must change
    ├── EncodeError          the object is wrong: the caller must change
    ├── UnsupportedVersion   this version of the message does not exist here: the caller must ask for another
    └── DeclarationError     a message class is wrong: its author must change it
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
    """A path as a person writes it: ``topics[3].partitions[0].leader_id``; empty for the message itself."""
    text = ""
    for element in path:
        if isinstance(element, int):
            text += f"[{element}]"
        else:
            text += f".{element}" if text else element
    return text


class KwireError(Exception):
    """The base of all errors that kwire raises on purpose."""


class DecodeError(KwireError, ValueError):
    """Bytes that are not a body of the message and version they were said to be.

    ``kind``: one of ``DECODE_KINDS``. ``offset``: of the first byte of the faulty value, from the start of the input.
    ``path``: names and indexes from the message down to that value. ``wanted``, ``left``: bytes that the value needed
    and bytes that were left in its reader (the message, or the tagged field it stands in); None where the fault is
    not one of length. For ``tag_size``, ``wanted`` is the tag's size and ``left`` what its value did not use; for
    ``trailing_bytes``, ``wanted`` is 0.
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
        text = f"{where}: {self.kind}" if where else self.kind
        text += f" at byte {self.offset}"
        if self.kind == "tag_size":
            text += f": {self.left} of {self.wanted} bytes not used"
        elif self.kind == "trailing_bytes":
            text += f": {self.left} left over"
        elif self.wanted is not None:
            text += f": {self.wanted} bytes wanted, {self.left} left"
        return text


class EncodeError(KwireError, TypeError, ValueError):
    """A value that its field, or this version of the message, cannot hold.

    ``kind``: one of ``ENCODE_KINDS``. ``path``: names and indexes from the message down to the value. ``reason``: the
    rest of the sentence, for a person. It is a TypeError and a ValueError too, because constructors raise it.
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
    """A version outside what the class declares. ``message``: its name; ``supported``: such as ``0-13``."""

    def __init__(self, message: str, version: int, supported: str) -> None:
        super().__init__(message, version, supported)
        self.message = message
        self.version = version
        self.supported = supported

    def __str__(self) -> str:
        return f"version {self.version} is not supported: {self.message} has versions {self.supported}"


class DeclarationError(KwireError, TypeError):
    """A mistake in a message class. ``declaration``: the class's name; ``field``: the field's, or None."""

    def __init__(self, declaration: str, field: str | None, reason: str) -> None:
        super().__init__(declaration, field, reason)
        self.declaration = declaration
        self.field = field
        self.reason = reason

    def __str__(self) -> str:
        where = f"{self.declaration}.{self.field}" if self.field else self.declaration
        return f"{where}: {self.reason}"
