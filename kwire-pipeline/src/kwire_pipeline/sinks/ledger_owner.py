"""Exclusive ownership of a ledger, so that two jobs with one sink do not send everything twice.

On a file system, the owner holds a file lock (`FolderLock`), which the operating system releases when the process ends.
Object stores, HDFS, and some mounts have no such locks: there, an owner holds a lease.

    OUT/_notified/<sink>/owners/<number>/    created by one process only, with the owner as its description
    OUT/_notified/<sink>/beat-<number>.json  rewritten by the owner every `BEAT` seconds
    OUT/_notified/<sink>/ledger-<number>.json

| others see | they |
|---|---|
| no owner, or a beat that says "released" | become the next owner |
| a beat that has not changed for `TAKEOVER` seconds of their own monotonic clock | become the next owner |
| any other beat | wait |

An owner sends nothing more `LEASE` seconds after its last beat, or after it sees a newer one. What it still
writes goes to the ledger with its own number, which is not read after the next owner has begun.
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
from typing import TYPE_CHECKING

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


class LedgerOwnership:
    """The ownership of a ledger, from `acquire` to `release`, or until the lease is lost.

    Args:
        out: the folder of the pipeline.
        sink: the name of the sink.
        clock: a monotonic clock in seconds.

    Attributes:
        number: the number of the owner; 0 with a lock, where a previous owner cannot write any more.
    """

    def __init__(self, out: str, sink: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.number = 0
        self._location = Location.parse(out).child(FOLDER).child(sink)
        self._sink = sink
        self._clock = clock
        self._lock: FolderLock | None = None
        self._other_beat: tuple[int, bytes] | None = None
        self._other_beat_at = 0.0
        self._beat_at = -LEASE
        self._has_ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_valid(self) -> bool:
        """True while this process owns the ledger."""
        if self._lock is not None:
            return True
        return self._thread is not None and not self._has_ended.is_set() and self._clock() - self._beat_at < LEASE

    def acquire(self) -> None:
        """Own the ledger.

        Raises:
            LedgerInUse: another process owns it, or was faster.
        """
        if self._location.is_path:
            folder = Path(self._location.native)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                self._lock = FolderLock(folder)
                return
            except FolderInUse as error:
                raise LedgerInUse(self._sink, error.owner) from None
            except NoFolderLocks:
                pass  # a mount without locks: a lease, as on object stores
        number, beat = self._newest_beat()
        if (number, beat) != self._other_beat:
            self._other_beat, self._other_beat_at = (number, beat), self._clock()
        is_released = number == 0 or (bool(beat) and bool(json.loads(beat)["released"]))
        if not is_released and self._clock() - self._other_beat_at < TAKEOVER:
            raise LedgerInUse(self._sink, json.loads(beat)["owner"] if beat else "another process")
        self._claim(number + 1)

    def release(self) -> None:
        """Let another process own the ledger."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        thread, self._thread = self._thread, None
        if thread is not None:
            is_lost = self._has_ended.is_set()
            self._has_ended.set()
            thread.join()
            if not is_lost:
                self._beat(released=True)

    def _claim(self, number: int) -> None:
        """Become the owner with a number: only one process can create the first version of a Delta table."""
        import pyarrow as pa

        table, id = self._location.child("owners").child(f"{number:012}").native, uuid.uuid4().hex
        try:
            DeltaTable.create(table, schema=pa.schema({"owner": pa.string()}), description=id)
        except DeltaError as error:
            # An object store may lose the answer to a request that succeeded: then this process is the owner.
            if DeltaTable(table).metadata().description != id:
                raise LedgerInUse(self._sink, "another process") from error
        self.number, self._has_ended = number, threading.Event()
        self._beat()
        self._thread = threading.Thread(target=self._keep, name=f"kwire-lease-{self._sink}", daemon=True)
        self._thread.start()

    def _beat(self, *, released: bool = False) -> None:
        """Extend the lease, unless there is a newer owner."""
        started = self._clock()
        if self._newest_owner() > self.number:
            self._has_ended.set()
            return
        owner = f"process {os.getpid()} on {platform.node()}"
        content = json.dumps({"owner": owner, "beat": uuid.uuid4().hex, "released": released})
        with self._location.files().open_output_stream(_beat_path(self.number)) as stream:
            stream.write(content.encode())
        self._beat_at = started

    def _keep(self) -> None:
        while not self._has_ended.wait(BEAT):
            try:
                self._beat()
            except OSError as error:
                log.warning("the lease of a sink was not extended, which is tried again: %s", error)

    def _newest_owner(self) -> int:
        """Return the number of the newest owner; 0 without any."""
        from pyarrow.fs import FileSelector

        infos = self._location.files().get_file_info(FileSelector("owners", allow_not_found=True, recursive=True))
        return max((int(info.path.split("/")[1]) for info in infos if info.path.count("/") > 1), default=0)

    def _newest_beat(self) -> tuple[int, bytes]:
        """Return the number of the newest owner, and its beat; no bytes before its first."""
        number = self._newest_owner()
        with suppress(FileNotFoundError), self._location.files().open_input_stream(_beat_path(number)) as stream:
            return number, stream.read()
        return number, b""


def _beat_path(number: int) -> str:
    return f"beat-{number:012}.json"
