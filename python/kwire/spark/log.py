"""The log of a store: one record an ingest, the newest of which holds all that is needed to go on.

    _log/<number>.json         a record
    _log/<id>.claim            somebody is about to write the next one
    _log/<number>.<id>.writing it is being written

Rules of this file: file systems differ in what they can do exclusively, so it is done with what all of them can:
whoever begins claims the log, takes the claims of others away, and only then looks for the newest record. A record is
renamed into place, which fails where the claim was taken away. So of several writers one record a number counts, and
those that it is not from hear of it before anything of theirs does.
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
"""Older records are removed: nobody needs them but a reader that saw their names just now."""


class StoreInUse(KwireError, RuntimeError):
    """Somebody else writes into the store. ``out``: the store; ``process_id``: the other one's, None if not known."""

    def __init__(self, out: str, process_id: int | None = None) -> None:
        super().__init__(out, process_id)
        self.out = out
        self.process_id = process_id

    def __str__(self) -> str:
        who = "somebody else" if self.process_id is None else f"process {self.process_id}"
        return f"{who} writes into {self.out}: one ingest at a time; try again when it has ended"


@dataclass
class Record:
    """What is known after an ingest. ``tellers``: by their key (`teller_key`), when they were heard last
    (microseconds), the file of their state, and for the last days that of their state when the day began (empty: they
    were not known). ``clusters``: by broker and endpoint. ``captures``: by folder, the ``row`` to go on with, the
    ``mark`` by which the capture is known again, and ``spans``, from which row to which it is bronze where it lies.
    ``streams``: the last batch, by the query's id. ``moves``: from staging to place; ``removed``: what they replace.
    """

    number: int = 0
    tellers: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    captures: dict[str, dict[str, Any]] = field(default_factory=dict)
    streams: dict[str, int] = field(default_factory=dict)
    staging: str = ""
    moves: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


class Log:
    """The folder of the log. ``out``: the store, as errors call it."""

    def __init__(self, system: FileSystem, folder: str, out: str) -> None:
        self._system = system
        self._folder = folder
        self._out = out
        self._claim = ""

    def newest(self) -> Record:
        """The newest record; an empty one in an empty log."""
        records = self._named(".json")
        if not records:
            return Record()
        with self._system.open_input_stream(f"{self._folder}/{records[-1]}") as stream:
            return Record(**json.loads(stream.read()))

    @contextmanager
    def claimed(self) -> Iterator[Record]:
        """The newest record, while nobody else may write the next one. Whoever claimed it before cannot any more."""
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
        """Make that the newest record. Raises StoreInUse when somebody else claimed the log meanwhile."""
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
            raise StoreInUse(self._out) from error  # they took it away

    def _named(self, ending: str) -> list[str]:
        from pyarrow.fs import FileSelector

        found = self._system.get_file_info(FileSelector(self._folder, allow_not_found=True))
        return sorted(info.base_name for info in found if info.base_name.endswith(ending))

    def _write(self, name: str, content: bytes) -> None:
        with self._system.open_output_stream(f"{self._folder}/{name}") as stream:
            stream.write(content)

    def _remove(self, name: str) -> None:
        """Remove a file; somebody else may do so too."""
        try:
            self._system.delete_file(f"{self._folder}/{name}")
        except OSError:
            if self._exists(name):
                raise

    def _exists(self, name: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self._system.get_file_info(f"{self._folder}/{name}").type != FileType.NotFound)
