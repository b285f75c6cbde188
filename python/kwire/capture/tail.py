"""The open end of a capture: an Arrow IPC stream that grows by whole batches, and what is left of one after a crash.

Rules of this file: a batch is written by one call, and whoever made a call that failed cuts off what it left behind, so
that the file always ends with a whole batch unless the machine or the process died inside the call. Readers believe a
batch only when all of it is there, its checksum is right, and its offsets and texts are sound; what stands behind one
that is not so is torn.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import pyarrow as pa

from kwire.capture.rows import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_SCHEMA = SCHEMA.with_metadata({"kwire.checksum": "crc32"})
"""Tails that were written without checksums have no metadata in their schema."""

_PREFIX = 8
"""Bytes of a message before its metadata: a mark, and the metadata's size."""

_CHECKSUM = 8
"""Bytes of a checksum, as many as metadata is padded to."""


class RecoveredTail(NamedTuple):
    """What the next writer found of a tail. ``part``: the parquet file that its rows went to, None if it had none.
    ``rows``: taken over, carried ones apart. ``torn_bytes``: behind the last whole batch, cut off; usually 0.
    """

    tail: Path
    part: Path | None
    rows: int
    torn_bytes: int


class Tail:
    """Appends batches to a file. ``first_row``: the number of its first row that is not carried.

    ``size``: bytes so far; ``carried_size``: how many of them are the schema and carried rows.
    """

    def __init__(self, path: Path, first_row: int) -> None:
        self.path = path
        self.first_row = first_row
        self.size = 0
        self.carried_size = 0
        self.unsynced = False
        self._descriptor = -1

    def begin(self) -> None:
        """Make the file, or begin it anew. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o644)
        self._write(_SCHEMA.serialize())
        self.carried_size = self.size

    def append(self, batch: pa.RecordBatch, *, carried: bool = False, sync: bool = False) -> None:
        """Write a batch. When this returns, the death of this process cannot undo it; with ``sync``, no loss of power
        either. Raises OSError; whatever is raised, ``cut`` has to follow.
        """
        self._write(_with_checksum(batch.serialize()), sync=sync)
        if carried:
            self.carried_size = self.size

    def _write(self, message: bytes | pa.Buffer, *, sync: bool = False) -> None:
        left = memoryview(message)
        while left:
            left = left[os.write(self._descriptor, left) :]
        if sync:
            os.fsync(self._descriptor)
        self.size += len(message)
        self.unsynced = not sync

    @property
    def is_open(self) -> bool:
        """Whether there is a file to append to."""
        return self._descriptor >= 0

    def cut(self, size: int) -> None:
        """Take back what was written behind that size, whole or not. Raises OSError."""
        os.ftruncate(self._descriptor, size)
        self.size = size

    def sync(self) -> None:
        """Make what was appended survive a loss of power. Raises OSError."""
        self.unsynced = False
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Let go of the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def discard(self) -> None:
        """Let go of the file, and remove it."""
        self.close()
        self.path.unlink(missing_ok=True)


class TailReader:
    """The batches of a tail up to the first torn one. ``torn_bytes`` is right once they have been walked through."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn_bytes = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(self.path)) as file:
            whole = 0
            try:
                messages = pa.ipc.MessageReader.open_stream(file)
                with_checksums = _has_checksums(pa.ipc.read_schema(messages.read_next_message()))
                whole = file.tell()
                while True:
                    yield _batch(messages.read_next_message(), with_checksums=with_checksums)
                    whole = file.tell()
            except StopIteration:
                pass
            except MemoryError:
                pa.allocate_buffer(file.size() - whole)  # when not even this can be had, the tail is not to blame
            except (pa.ArrowException, ValueError, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # the disk's fault; Arrow's own "file is too short" has no number
            self.torn_bytes = file.size() - whole


def _has_checksums(schema: pa.Schema) -> bool:
    """Raises ValueError when the schema is not that of a tail."""
    if schema != SCHEMA or schema.metadata not in (None, _SCHEMA.metadata):
        raise ValueError("the schema is not that of a tail")
    return schema.metadata is not None


def _with_checksum(message: pa.Buffer) -> bytes:
    """A message whose metadata is padded by a checksum: Arrow reads metadata by offsets, and passes over the rest."""
    plain = memoryview(message)
    end = _PREFIX + int.from_bytes(plain[4:_PREFIX], "little")
    metadata, body = plain[_PREFIX:end], plain[end:]
    checksum = crc32(body, crc32(metadata)).to_bytes(_CHECKSUM, "little")
    size = (len(metadata) + _CHECKSUM).to_bytes(4, "little")
    return b"".join((plain[:4], size, metadata, checksum, body))


def _batch(message: pa.Message, *, with_checksums: bool) -> pa.RecordBatch:
    """Raises ValueError, or another error that Arrow has, when not all of it is as it was written."""
    if with_checksums:
        metadata = memoryview(message.metadata)
        found = int.from_bytes(metadata[-_CHECKSUM:], "little")
        if found != crc32(message.body, crc32(metadata[:-_CHECKSUM])):
            raise ValueError("the checksum is another")
    batch = pa.ipc.read_record_batch(message, SCHEMA)
    batch.validate(full=True)
    return batch
