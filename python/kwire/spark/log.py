"""The log of a store: one record per ingest. The newest has everything that the next ingest needs.

    _log/<number>.json         a record
    _log/<id>.claim            a writer is about to write the next record
    _log/<number>.<id>.writing the record is being written

File systems differ in their exclusive operations, so the log uses what all of them have: a writer claims the log,
removes the claims of others, and then reads the newest record. A record is renamed into place, which fails if the claim
was removed. Of several writers, only one can write the next record, and the others fail before their files count.
"""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow.fs import FileSystem

RECORDS_KEPT = 16
"""Older records are deleted: only a reader that has just listed them needs them."""


class StoreInUse(KwireError, RuntimeError):
    """Another process writes to the store `out`; `process_id` is None if it is not known."""

    def __init__(self, out: str, process_id: int | None = None) -> None:
        super().__init__(out, process_id)
        self.out = out
        self.process_id = process_id

    def __str__(self) -> str:
        writer = "another process" if self.process_id is None else f"process {self.process_id}"
        return f"{writer} writes to {self.out}: only one ingest can run at a time, try again when it has ended"


@dataclass
class Record:
    """The state of the store after an ingest.

    Attributes:
        reporters: by `reporter_key`, the time of the `last` frame in microseconds, the file of the `state`, and for the
            last `days` the file of the state at the beginning of the day (empty if there was none).
        clusters: cluster ids by broker and endpoint.
        captures: by folder, the next `row`, the `fingerprint` of the capture, and the `spans` of rows that are bronze
            in place.
        streams: the last batch by the id of the query.
        moves: staged paths and final places of files.
        removed: the files that they replace.
    """

    number: int = 0
    reporters: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    captures: dict[str, dict[str, Any]] = field(default_factory=dict)
    streams: dict[str, int] = field(default_factory=dict)
    staging: str = ""
    moves: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


class Log:
    """The log in a folder; `out` names the store in errors."""

    def __init__(self, system: FileSystem, folder: str, out: str) -> None:
        self._system = system
        self._folder = folder
        self._out = out
        self._claim = ""

    def newest(self) -> Record:
        """Return the newest record; an empty one if the log is empty."""
        records = self._named(".json")
        if not records:
            return Record()
        with self._system.open_input_stream(f"{self._folder}/{records[-1]}") as stream:
            return Record(**json.loads(stream.read()))

    @contextmanager
    def claimed(self) -> Iterator[Record]:
        """Claim the log, which revokes other claims, and return the newest record."""
        self._claim = uuid.uuid4().hex
        own = f"{self._claim}.claim"
        self._write(own, b"")
        try:
            for name in [*self._named(".claim"), *self._named(".writing")]:
                if name != own:
                    self._remove(name)
            yield self.newest()
            for name in self._named(".json")[:-RECORDS_KEPT]:
                self._remove(name)
        finally:
            self._remove(own)

    def write(self, record: Record) -> None:
        """Write the next record.

        Raises:
            StoreInUse: another writer has claimed the log.
        """
        name = f"{record.number:012}"
        writing = f"{name}.{self._claim}.writing"
        self._write(writing, json.dumps(asdict(record)).encode())
        if not self._exists(f"{self._claim}.claim") or self._exists(f"{name}.json"):
            self._remove(writing)
            raise StoreInUse(self._out)
        try:
            self._system.move(f"{self._folder}/{writing}", f"{self._folder}/{name}.json")
        except OSError as error:
            if self._exists(writing):
                raise
            raise StoreInUse(self._out) from error  # another writer removed it

    def _named(self, ending: str) -> list[str]:
        from pyarrow.fs import FileSelector

        found = self._system.get_file_info(FileSelector(self._folder, allow_not_found=True))
        return sorted(info.base_name for info in found if info.base_name.endswith(ending))

    def _write(self, name: str, content: bytes) -> None:
        with self._system.open_output_stream(f"{self._folder}/{name}") as stream:
            stream.write(content)

    def _remove(self, name: str) -> None:
        """Delete a file; another writer may delete it at the same time."""
        try:
            self._system.delete_file(f"{self._folder}/{name}")
        except OSError:
            if self._exists(name):
                raise

    def _exists(self, name: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self._system.get_file_info(f"{self._folder}/{name}").type != FileType.NotFound)
