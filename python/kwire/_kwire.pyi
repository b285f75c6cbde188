"""The engine of `kwire`, written in Rust. Use it only through that package."""

from collections.abc import Sequence
from typing import Any, final

from kwire.declare import Message, Struct

__all__ = ["Batch", "Columns", "KnownRequests", "Memory", "Plan", "Schema", "adopt"]

@final
class Plan:
    """A compiled plan of one version of a message.

    Args:
        text: the plan, in the grammar of `docs/plans.md`.
        structs: the class of each struct in the order in which the text opens them, with the defaults of absent fields.

    Raises:
        ValueError: the text is not a plan.
    """

    def __new__(cls, text: str, structs: Sequence[tuple[type[Struct], dict[str, Any]]]) -> Plan: ...
    @property
    def text(self) -> str:
        """The text of the plan."""
    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        """Decode a body to an instance of the first class. Raises DecodeError."""
    def encode(self, message: Message) -> bytes:
        """Encode a message. Raises EncodeError."""
    def validate(self, data: bytes | bytearray | memoryview) -> None:
        """Check a body. Raises DecodeError."""

@final
class Memory:
    """The state of a decoder between frames.

    `keys` has the key fields of each struct in the order in which the plan opens them.
    """

    def __new__(cls, plan: Plan, keys: list[list[str]]) -> Memory: ...
    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        """Decode a body. Raises DecodeError and keeps the state."""
    def reset(self) -> None:
        """Forget the last frame."""
    def changes(self) -> tuple[tuple[str, ...], dict[str, Any], Any] | None:
        """Return the changes of the last valid frame, or None for the first frame.

        The changes are the names of changed fields, the changes of arrays of structs by name (added, removed, pairs of
        changed, moved), and the previous message if tagged fields changed, else None.
        """
    @property
    def size(self) -> int:
        """The size of the state in bytes, without the last two messages."""

@final
class KnownRequests:
    """Prepared responses to known requests, which are found by their bytes without decoding."""

    def __new__(cls) -> KnownRequests: ...
    def insert(self, request: bytes, body: bytes, label: object) -> bool:
        """Store the response body of a request, both without their sizes, and a label that is returned with it.

        Returns False without storing it if the request has less than 8 or more than 260 bytes.
        """
    def clear(self) -> None:
        """Remove all responses."""
    def __len__(self) -> int: ...
    def answer(self, received: bytes, start: int, at_most: int) -> tuple[bytes, int, int, Any] | None:
        """Return the response frames for a run of equal requests at `start`.

        Returns the frames, the end of the run, its number of requests, and the label, or None if the first request is
        unknown or incomplete. `at_most` limits the bytes of responses after the first.
        """

@final
class Columns:
    """A compiled conversion of one version of a message to Arrow columns.

    Args:
        plan: the plan of the body.
        header: the plan of the header before each body, or None.
        shape: a plan with the untagged fields of all versions in declaration order.
        defaults: a plan of absent fields for each struct of `shape`, in the order in which it opens them.
        rows: the path to the rows.

    Raises:
        NoSuchRows: the path does not lead to an array of structs.
    """

    def __new__(cls, plan: str, header: str | None, shape: str, defaults: list[str], rows: str) -> Columns: ...
    @property
    def schema(self) -> Schema:
        """The schema of the batches."""
    def batch(self, frames: Any) -> Batch:
        """Convert bytes-like objects and None, or binary Arrow data. Raises BatchTooLarge or TypeError."""

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
        """The size of the data in bytes."""
    @property
    def schema(self) -> Schema: ...
    def __len__(self) -> int:
        """The number of rows."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Schema:
    """The schema of a batch, for libraries that read Arrow through the PyCapsule interface."""

    @property
    def names(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> object: ...

def adopt(cls: type[Struct], names: tuple[str, ...]) -> bool:
    """Remove the garbage collector header from a class without instances, and give it native equality and hash.

    Returns False and leaves the class unchanged if it needs the header. `names` are its fields in order.
    """
