"""The open tail of a capture: an Arrow IPC stream that grows by complete batches.

A batch is written by one call. If the call fails, the writer truncates what it left behind, so a tail ends with a
complete batch unless the process or the machine died during the call. Readers accept a batch only if it is complete,
its checksum matches, and Arrow validates its offsets and strings. Everything after the first invalid batch is torn.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import pyarrow as pa

from kwire._util.file_sync import named_errors, sync_file
from kwire.capture.rows import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_SCHEMA = SCHEMA.with_metadata({"kwire.checksum": "crc32"})
"""The schema of a tail."""

_PREFIX = 8
"""Bytes of an IPC message before its metadata: a marker and the size of the metadata."""

_CHECKSUM = 8
"""Bytes of a checksum; Arrow pads metadata to multiples of 8."""


class RecoveredTail(NamedTuple):
    """A tail that an earlier writer left open, and what was recovered from it.

    Attributes:
        tail: the path of the removed tail.
        segment: the parquet file that has its rows now; None for a tail without rows.
        rows: the number of recovered rows, without carried ones.
        torn_bytes: bytes after the last complete batch, which were discarded; usually 0.
    """

    tail: Path
    segment: Path | None
    rows: int
    torn_bytes: int


class TailWriter:
    """Append batches to a tail.

    Attributes:
        path: the file.
        first_row: the number of its first row that is not carried.
        size: bytes written so far.
        carried_size: bytes of the schema and the carried rows.
        unsynced: True if batches were appended since the last sync.
    """

    def __init__(self, path: Path, first_row: int) -> None:
        self.path = path
        self.first_row = first_row
        self.size = 0
        self.carried_size = 0
        self.unsynced = False
        self._descriptor = -1

    def create(self) -> None:
        """Create or truncate the file and write the schema.

        Raises:
            OSError: the file cannot be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | getattr(os, "O_BINARY", 0)
        # A symbolic link of this name, in a folder where others may write, is not followed.
        self._descriptor = os.open(self.path, flags | getattr(os, "O_NOFOLLOW", 0), 0o644)
        self._write(_SCHEMA.serialize())
        self.carried_size = self.size

    def append(self, batch: pa.RecordBatch, *, carried: bool = False, sync: bool = False) -> None:
        """Write a batch. Once this returns, the batch survives the death of the process.

        After any exception the caller must call `truncate`.

        Args:
            batch: rows of `SCHEMA`.
            carried: True if the rows are carried ones.
            sync: also sync the file, so that the batch survives a power failure.

        Raises:
            OSError: the file cannot be written or synced.
        """
        self._write(_with_checksum(batch.serialize()), sync=sync)
        if carried:
            self.carried_size = self.size

    def _write(self, message: bytes | pa.Buffer, *, sync: bool = False) -> None:
        rest = memoryview(message)
        with named_errors(self.path):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            if sync:
                sync_file(self._descriptor)
        self.size += len(message)
        self.unsynced = not sync

    @property
    def is_open(self) -> bool:
        """True while the file is open for appending."""
        return self._descriptor >= 0

    def truncate(self, size: int) -> None:
        """Discard everything after the first `size` bytes.

        Raises:
            OSError: the file cannot be truncated.
        """
        with named_errors(self.path):
            os.ftruncate(self._descriptor, size)
        self.size = size

    def sync(self) -> None:
        """Sync the file, so that its rows survive a power failure.

        Raises:
            OSError: the file cannot be synced.
        """
        self.unsynced = False
        with named_errors(self.path):
            sync_file(self._descriptor)

    def close(self) -> None:
        """Close the file. Closing twice is allowed.

        Raises:
            OSError: the file system reports an error of an earlier write.
        """
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            # After an interrupt, the system has closed it: closing again could close another file.
            with suppress(InterruptedError), named_errors(self.path):
                os.close(descriptor)

    def discard(self) -> None:
        """Close and remove the file."""
        with suppress(OSError):  # its contents are dropped
            self.close()
        self.path.unlink(missing_ok=True)


class TailReader:
    """Iterate over the complete batches of a tail.

    Attributes:
        path: the file.
        torn_bytes: bytes after the last complete batch; valid once the iteration has ended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn_bytes = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(self.path)) as file:
            complete = 0
            try:
                messages = pa.ipc.MessageReader.open_stream(file)
                _check_schema(pa.ipc.read_schema(messages.read_next_message()))
                complete = file.tell()
                while True:
                    yield _read_batch(messages.read_next_message())
                    complete = file.tell()
            except StopIteration:
                pass
            except MemoryError:
                # A torn size asks for absurd amounts. If the rest of the file does not fit either, memory is short.
                pa.allocate_buffer(file.size() - complete)
            except (pa.ArrowException, ValueError, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise  # an I/O error; Arrow's "file is too short" has no errno
            self.torn_bytes = file.size() - complete


def _check_schema(schema: pa.Schema) -> None:
    if not schema.equals(_SCHEMA, check_metadata=True):
        raise ValueError("the schema is not the schema of a tail")


def _with_checksum(message: pa.Buffer) -> bytes:
    """Append a checksum to the padding of a message's metadata, which Arrow ignores."""
    plain = memoryview(message)
    end = _PREFIX + int.from_bytes(plain[4:_PREFIX], "little")
    metadata, body = plain[_PREFIX:end], plain[end:]
    checksum = crc32(body, crc32(metadata)).to_bytes(_CHECKSUM, "little")
    size = (len(metadata) + _CHECKSUM).to_bytes(4, "little")
    return b"".join((plain[:4], size, metadata, checksum, body))


def _read_batch(message: pa.Message) -> pa.RecordBatch:
    """Return the batch of a message.

    Raises:
        ValueError: the checksum does not match, or Arrow finds an invalid value.
    """
    metadata = memoryview(message.metadata)
    checksum = int.from_bytes(metadata[-_CHECKSUM:], "little")
    if checksum != crc32(message.body, crc32(metadata[:-_CHECKSUM])):
        raise ValueError("checksum mismatch")
    batch = pa.ipc.read_record_batch(message, SCHEMA)
    batch.validate(full=True)
    return batch
