"""Exclusive ownership of a ledger, so that two jobs with one sink do not send everything twice.

On a file system, the owner holds a file lock (`FolderLock`), which the operating system releases when the process ends.
Object stores, HDFS, and some mounts have no such locks: there, an owner holds a lease.

    OUT/_notified/<sink>/owners/<generation>/    created by one process only, with the owner as its description
    OUT/_notified/<sink>/beat-<generation>.json  rewritten by the owner every `BEAT` seconds
    OUT/_notified/<sink>/ledger-<generation>.json

| others see | they |
|---|---|
| no generation, or a beat that says "released" | create the next generation |
| a beat that has not changed for `TAKEOVER` seconds of their own monotonic clock | create the next generation |
| any other beat | wait |

An owner sends nothing more `LEASE` seconds after its last beat, or after it sees a newer generation. What it still
writes goes to the ledger of its own generation, which is not read after the next owner has begun.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from kwire._util.folder_lock import FolderInUse, FolderLock, NoFolderLocks
from kwire.errors import KwireError
from kwire.storage.location import Location
from kwire_pipeline.sinks.ledger import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

BEAT = 10.0
"""Interval in seconds between two beats of an owner: 8,640 small writes a day. Chosen, not measured."""

LEASE = 30.0
"""Seconds that an owner may send after its last beat."""

TAKEOVER = LEASE + 30.0
"""Seconds without a beat after which another process takes over: a lease, and the longest exchange with a sink
(`kafka_topic.TIMEOUT`) that began at its end."""

log = logging.getLogger(__name__)


class LedgerInUse(KwireError, RuntimeError):
    """Another process owns the ledger of a sink."""

    def __init__(self, sink: str, owner: str) -> None:
        super().__init__(sink, owner)
        self.sink = sink
        self.owner = owner

    def __str__(self) -> str:
        return f"{self.sink}: {self.owner} sends the notices of this sink"


class LedgerOwner(Protocol):
    """The ownership of a ledger."""

    @property
    def generation(self) -> int:
        """The number of the owner; 0 on a file system, where a previous owner cannot write any more."""

    @property
    def is_valid(self) -> bool:
        """True while this process owns the ledger."""

    def release(self) -> None:
        """Let another process own the ledger."""


class _LockedFolder:
    """The ownership of a ledger on a file system."""

    generation = 0
    is_valid = True

    def __init__(self, folder: Path, sink: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = FolderLock(folder)
        except FolderInUse as error:
            raise LedgerInUse(sink, error.owner) from None

    def release(self) -> None:
        """Let another process own the ledger."""
        self._lock.release()


class OwnershipRequest:
    """A request to own a ledger, repeated by `acquire` until it succeeds.

    Args:
        out: the folder of the pipeline.
        sink: the name of the sink.
        clock: a monotonic clock in seconds.
    """

    def __init__(self, out: str, sink: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._location = Location.parse(out).child(FOLDER).child(sink)
        self._sink = sink
        self._clock = clock
        self._last_beat: tuple[int, bytes] | None = None
        self._beat_seen_at = clock()

    def acquire(self) -> LedgerOwner:
        """Own the ledger.

        Raises:
            LedgerInUse: another process owns it.
        """
        if self._location.is_path:
            with suppress(NoFolderLocks):  # a mount without locks: a lease, as on object stores
                return _LockedFolder(Path(self._location.native), self._sink)
        generation, beat = newest_beat(self._location)
        if (generation, beat) != self._last_beat:
            self._last_beat, self._beat_seen_at = (generation, beat), self._clock()
        is_released = generation == 0 or (bool(beat) and bool(json.loads(beat)["released"]))
        if not is_released and self._clock() - self._beat_seen_at < TAKEOVER:
            raise LedgerInUse(self._sink, json.loads(beat)["owner"] if beat else "another process")
        return Lease(self._location, self._sink, generation + 1, self._clock)


class Lease:
    """The ownership of a ledger on an object store or HDFS, kept by a thread until `release`.

    Raises:
        LedgerInUse: another process was faster.
    """

    def __init__(self, location: Location, sink: str, generation: int, clock: Callable[[], float]) -> None:
        self.generation = generation
        self._location = location
        self._clock = clock
        self._id = uuid.uuid4().hex
        self._owner = f"process {os.getpid()} on {platform.node()}"
        self._claim(sink)
        self._is_lost = False
        self._beats = 0
        self._beat_at = -LEASE
        self._stopped = threading.Event()
        self.beat()
        self._thread = threading.Thread(target=self._keep, name=f"kwire-lease-{sink}", daemon=True)
        self._thread.start()

    def _claim(self, sink: str) -> None:
        """Create the generation: only one process can create the first version of a Delta table."""
        import pyarrow as pa

        table = self._location.child("owners").child(f"{self.generation:012}").native
        try:
            DeltaTable.create(table, schema=pa.schema({"owner": pa.string()}), description=self._id)
        except DeltaError as error:
            # An object store may lose the answer to a request that succeeded: then this process has the generation.
            if DeltaTable(table).metadata().description != self._id:
                raise LedgerInUse(sink, "another process") from error

    @property
    def is_valid(self) -> bool:
        """True while this process owns the ledger."""
        return not self._is_lost and self._clock() - self._beat_at < LEASE

    def beat(self, *, released: bool = False) -> None:
        """Extend the lease, unless there is a newer generation."""
        started = self._clock()
        if newest_generation(self._location) > self.generation:
            self._is_lost = True
            return
        self._beats += 1
        content = json.dumps({"owner": self._owner, "beat": self._beats, "released": released})
        with self._location.files().open_output_stream(_beat_path(self.generation)) as stream:
            stream.write(content.encode())
        self._beat_at = started

    def _keep(self) -> None:
        while not self._stopped.wait(BEAT) and not self._is_lost:
            try:
                self.beat()
            except OSError as error:
                log.warning("the lease of a sink was not extended, which is tried again: %s", error)

    def release(self) -> None:
        """Let another process own the ledger."""
        self._stopped.set()
        self._thread.join()
        if not self._is_lost:
            self.beat(released=True)
        self._is_lost = True


def newest_generation(location: Location) -> int:
    """Return the number of the newest owner; 0 without any."""
    from pyarrow.fs import FileSelector

    infos = location.files().get_file_info(FileSelector("owners", allow_not_found=True, recursive=True))
    return max((int(info.path.split("/")[1]) for info in infos if info.path.count("/") > 1), default=0)


def newest_beat(location: Location) -> tuple[int, bytes]:
    """Return the number of the newest owner, and its beat; no bytes before its first."""
    from pyarrow.fs import FileType

    generation = newest_generation(location)
    files = location.files()
    if files.get_file_info(_beat_path(generation)).type == FileType.NotFound:
        return generation, b""
    with files.open_input_stream(_beat_path(generation)) as stream:
        return generation, stream.read()


def _beat_path(generation: int) -> str:
    return f"beat-{generation:012}.json"
