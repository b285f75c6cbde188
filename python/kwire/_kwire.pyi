"""The engine behind `kwire`, written in Rust. It is public only through that package."""

from collections.abc import Sequence
from typing import Any, Literal, final

from kwire.declare import Message, Struct
from kwire.records import Header, Record, RecordBatch
from kwire.records.options import BatchFields

__all__ = ["Batch", "Columns", "Index", "Memory", "Pattern", "Plan", "Records", "ResponseCache", "Schema", "adopt"]

@final
class Plan:
    """A message in one version, ready to decode and encode.

    Args:
        text: a plan in the grammar of `docs/plans.md`.
        structs: the class and the defaults of absent fields for each struct, in the order in which the plan opens them.

    Raises:
        ValueError: the text is not a valid plan.
    """

    def __new__(cls, text: str, structs: Sequence[tuple[type[Struct], dict[str, Any]]]) -> Plan: ...
    @property
    def text(self) -> str:
        """The text of the plan."""
    def decode(self, data: bytes | bytearray | memoryview, version: int | None = None) -> Any:
        """Decode a bytes-like object to an instance of the first struct's class.

        Args:
            data: the bytes.
            version: the key that found the plan, if a look-up by version did.

        Raises:
            TypeError: `version` is not an int, such as `True`, which equals 1.
            DecodeError: the bytes are invalid.
        """
    def encode(self, message: Message, version: int | None = None) -> bytes:
        """Encode a message.

        Raises:
            TypeError: `version` is not an int.
            EncodeError: a value cannot be encoded.
        """
    def validate(self, data: bytes | bytearray | memoryview, version: int | None = None) -> None:
        """Check a bytes-like object without building objects.

        Raises:
            TypeError: `version` is not an int.
            DecodeError: the bytes are invalid.
        """

@final
class Pattern:
    """A regular expression of an untrusted user, matched in time that is linear in the text.

    Its classes, such as digits, are ASCII, as in Java. It has neither look-around nor backreferences.

    Raises:
        ValueError: the text is not an expression, or too large a one.
    """

    def __new__(cls, text: str) -> Pattern: ...
    @property
    def groups(self) -> int:
        """The number of groups."""
    def search(self, text: str) -> bool:
        """Return whether the expression matches somewhere in a text."""
    def matches(self, text: str) -> bool:
        """Return whether the expression matches a whole text."""
    def fullmatch(self, text: str) -> list[str | None] | None:
        """Return the groups of a match of a whole text, the match itself first; None without a match."""

@final
class Memory:
    """The state of a decoder between two frames.

    Args:
        plan: the plan of the message.
        keys: the names of the key fields of each struct, in the order in which the plan opens them.
    """

    def __new__(cls, plan: Plan, keys: list[list[str]]) -> Memory: ...
    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        """Decode a bytes-like object, reusing the previous message.

        Raises:
            DecodeError: the bytes are invalid. The last valid frame is kept.
        """
    def reset(self) -> None:
        """Forget the last frame."""
    def changes(self) -> tuple[tuple[str, ...], dict[str, Any], Any] | None:
        """Return what the last valid frame changed, or None if it was the first.

        Returns:
            The names of the fields that differ; the differences of arrays of structs by name (added, removed, pairs of
            changed, moved); and the previous message if its tag section differs, else None.
        """
    @property
    def size(self) -> int:
        """The number of bytes held besides the last two messages."""

@final
class Index:
    """A checked body, and the offsets of its parts.

    Fields are identified by their position in the plan: plain fields in order, then tagged ones.

    Args:
        plan: the plan of the message.
        data: the body.

    Raises:
        DecodeError: the bytes are invalid.
    """

    def __new__(cls, plan: Plan, data: bytes | bytearray | memoryview) -> Index: ...
    @property
    def data(self) -> bytes | memoryview:
        """The body."""
    @property
    def size(self) -> int:
        """The number of bytes held."""
    def count(self, position: int) -> int | None:
        """Return the number of elements of an array of structs, or None if it is null."""
    def field(self, position: int) -> Any:
        """Decode a plain field."""
    def tagged(self, position: int) -> tuple[Any] | None:
        """Decode a tagged field to a tuple of one, or return None if its tag is missing."""
    def unknown_tags(self) -> bytes:
        """Return the unknown tags in shortest form, one after the other."""
    def element(self, position: int, element: int) -> Any:
        """Decode an element of an array of structs."""
    def elements(self, position: int, start: int, stop: int) -> tuple[Any, ...]:
        """Decode consecutive elements of an array of structs."""
    def find(self, position: int, names: tuple[str, ...], parts: list[bytes | None]) -> int | Literal[False] | None:
        """Return the index of the first element of an array of structs with the given contents in its fields, or None.

        Args:
            position: the array.
            names: the fields of the elements.
            parts: big-endian integers, uuids, the UTF-8 of strings, and None for null.

        Returns:
            False if a field is not a plain integer, uuid, or string of this version.
        """

@final
class ResponseCache:
    """A cache of prepared responses, looked up by the bytes of the request. Nothing is decoded."""

    def __new__(cls) -> ResponseCache: ...
    def insert(self, request: bytes, body: bytes, label: object) -> bool:
        """Store the response body for a request, both without size prefix. `label` is returned with the response.

        Returns False and stores nothing if the request has less than 8 or more than 260 bytes.
        """
    def clear(self) -> None:
        """Remove all responses."""
    def __len__(self) -> int: ...
    def get(self, received: bytes, start: int, max_bytes: int) -> tuple[bytes, int, int, Any] | None:
        """Return the responses to the request at `start` and to the frames after it that repeat it.

        The responses have the correlation ids of their requests and take at most `max_bytes`, unless a single one is
        larger.

        Returns:
            The response frames, where the requests end, the number of requests, and the label; or None if the request
            is incomplete or not in the cache.
        """

@final
class Records:
    """Decodes and encodes record batches.

    Args:
        batch: the class of batches.
        record: the class of records.
        header: the class of headers.
    """

    def __new__(cls, batch: type[RecordBatch], record: type[Record], header: type[Header]) -> Records: ...
    def decode(
        self, data: bytes | bytearray | memoryview, check_crc: bool, max_size: int, max_ratio: int
    ) -> tuple[tuple[RecordBatch, ...], int]:
        """Decode all batches. Returns them, and the number of bytes after the last complete one.

        Raises:
            RecordsDecodeError: the bytes are invalid.
        """
    def decode_one(
        self,
        data: bytes | bytearray | memoryview,
        position: int,
        index: int,
        check_crc: bool,
        max_size: int,
        max_ratio: int,
    ) -> tuple[RecordBatch, int] | None:
        """Decode the batch number `index`, which starts at `position`.

        Returns the batch and the position after it, or None if it is incomplete.

        Raises:
            RecordsDecodeError: the bytes are invalid.
        """
    @staticmethod
    def headers(data: bytes | bytearray | memoryview, check_crc: bool) -> tuple[tuple[tuple[int, ...], ...], int]:
        """Return the fields of `BatchHeader` for each batch, and the number of bytes after the last complete one.

        Raises:
            RecordsDecodeError: the bytes are invalid.
        """
    def encode(self, fields: BatchFields, records: tuple[Any, ...], level: int | None) -> bytes:
        """Encode a batch of records, or of tuples of their values.

        Raises:
            EncodeError: a value cannot be encoded.
        """
    @staticmethod
    def columns(frames: Any, check_crc: bool, max_size: int, max_ratio: int) -> Batch:
        """Decode bytes-like objects and None, or binary Arrow data, into a batch.

        Raises:
            BatchTooLarge: the columns would have more than 2 GiB.
            TypeError: the frames have another type.
        """
    @staticmethod
    def schema() -> Schema:
        """Return the schema of columns."""

@final
class Columns:
    """The Arrow columns of one message in one version.

    Args:
        plan: the plan of the body.
        header: the plan of what precedes each body, if anything.
        shape: a plan with every field of every version in the order of declaration, none of them tagged.
        defaults: a plan of absent fields for each struct of the shape, in the order in which its text opens them.
        rows: the path to the rows.

    Raises:
        NoSuchRows: the path does not lead to an array.
    """

    def __new__(cls, plan: str, header: str | None, shape: str, defaults: list[str], rows: str) -> Columns: ...
    @property
    def schema(self) -> Schema:
        """The schema of batches."""
    def batch(self, frames: Any, max_bytes: int) -> Batch:
        """Decode bytes-like objects and None, or binary Arrow data, into a batch.

        Raises:
            BatchTooLarge: the frames have more than 2 GiB.
            ColumnsTooLarge: the columns need more than `max_bytes`.
            TypeError: the frames have another type.
        """

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
        """The memory that the batch holds in bytes. Buffers that columns share count once."""
    @property
    def schema(self) -> Schema: ...
    def __len__(self) -> int:
        """Return the number of rows."""
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

    Returns False and does nothing if the class requires the header.

    Args:
        cls: the class.
        names: the names of its fields, in order.
    """
