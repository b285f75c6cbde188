"""The engine behind ``kwire``, written in Rust; public through that package only."""

from collections.abc import Sequence
from typing import Any, final

from kwire.declare import Message, Struct

__all__ = ["Batch", "Columns", "KnownRequests", "Memory", "Plan", "Schema", "adopt"]

@final
class Plan:
    """A message at one version, ready to decode and encode.

    ``text``: a plan, in the grammar of ``docs/plans.md``. ``structs``: for each struct that it opens, in that order,
    the class, and the defaults of the fields that the plan says are absent. Raises ValueError for a text that is no
    plan.
    """

    def __new__(cls, text: str, structs: Sequence[tuple[type[Struct], dict[str, Any]]]) -> Plan: ...
    @property
    def text(self) -> str:
        """The plan's text."""
    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        """Bytes-like to object: an instance of the first struct's class. Raises DecodeError."""
    def encode(self, message: Message) -> bytes:
        """Object to bytes. Raises EncodeError."""
    def validate(self, data: bytes | bytearray | memoryview) -> None:
        """Bytes-like to nothing, or to what is wrong with it. Raises DecodeError."""

@final
class Memory:
    """What a decoder remembers of one frame to the next. ``keys``: for each struct that the plan opens, in that order,
    the names of the fields of its key.
    """

    def __new__(cls, plan: Plan, keys: list[list[str]]) -> Memory: ...
    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        """Bytes-like to object. Raises DecodeError, and changes nothing then."""
    def reset(self) -> None:
        """Forget the last frame."""
    def changes(self) -> tuple[tuple[str, ...], dict[str, Any], Any] | None:
        """What the last good frame changed: None when there was none before it. Otherwise names of fields that differ;
        by name what differs in arrays of structs (added, removed, pairs of changed, moved); and the message before when
        its tag section differs, else None.
        """
    @property
    def size(self) -> int:
        """How many bytes it holds beside the last two messages."""

@final
class KnownRequests:
    """What a server would answer to requests that it has answered before: found by their bytes, put under their
    correlation ids. Nothing is decoded.
    """

    def __new__(cls) -> KnownRequests: ...
    def insert(self, request: bytes, body: bytes, label: object) -> bool:
        """Keep the body that answers a request, both without their sizes. ``label`` is handed out with the answer.
        False, and nothing kept, when no such request can be known: one of less than 8 or more than 260 bytes.
        """
    def clear(self) -> None:
        """Forget all of them."""
    def __len__(self) -> int: ...
    def answer(self, received: bytes, start: int, at_most: int) -> tuple[bytes, int, int, Any] | None:
        """Frames of answers to the run of equal known requests that stands at ``start``: the frames, where the run
        ends, how many requests it has, the label. None when the first request is not known, or not complete.
        ``at_most``: of bytes of answers, beyond the first.
        """

@final
class Columns:
    """How to make Arrow columns of one message at one version.

    ``plan``, ``header``: plans of the body and of what stands before it. ``shape``: a plan with every field of every
    version, none tagged, in the order of declaration. ``defaults``: for each struct of it, in the order in which the
    text opens them, a plan of absent fields only. ``rows``: the path to the rows. Raises NoSuchRows.
    """

    def __new__(cls, plan: str, header: str | None, shape: str, defaults: list[str], rows: str) -> Columns: ...
    @property
    def schema(self) -> Schema:
        """What batches look like."""
    def batch(self, frames: Any) -> Batch:
        """Bytes-likes and None, or binary Arrow data, to a batch. Raises BatchTooLarge, TypeError."""

@final
class Batch:
    """An Arrow record batch, for libraries that read Arrow through the PyCapsule interface."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def nbytes(self) -> int:
        """Bytes of memory that it holds."""
    @property
    def schema(self) -> Schema: ...
    def __len__(self) -> int:
        """The number of rows."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Schema:
    """What a batch looks like, for libraries that read Arrow through the PyCapsule interface."""

    @property
    def names(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> object: ...

def adopt(cls: type[Struct], names: tuple[str, ...]) -> bool:
    """Take the collector's header from a class that has no instances yet, and give it native equality and hash.

    ``names``: of its fields, in order. False, and nothing done, for a class that cannot do without the header.
    """
