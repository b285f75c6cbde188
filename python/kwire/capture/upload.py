"""Copying the closed segments of a capture to an object store or HDFS.

A capture is written on a local disk, since an object store has no files that grow. Closed segments never change: they
are copied in the order of their rows, and each appears as a whole. Readers see the rows of the open tail after it was
closed (`kwire.capture.ROLL_SECONDS`).
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kwire.capture.errors import NotACapture
from kwire.capture.folder import PARTIAL_SUFFIX, segments
from kwire.storage.location import Location

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

log = logging.getLogger(__name__)

UPLOAD_SECONDS = 60.0
_PART = 8 << 20


def upload(folder: str, place: str) -> int:
    """Copy the closed segments of a capture that another place lacks, and return their number.

    Args:
        folder: the capture on this machine.
        place: a path or URI.

    Raises:
        NotACapture: the folder does not exist.
        UnsupportedLocation: the place has an unknown scheme.
    """
    target = Location.parse(place)
    files = target.files()
    known: set[str] = set()
    if target.is_path:
        Path(target.native).mkdir(parents=True, exist_ok=True)
    with suppress(NotACapture):  # the first upload
        known = {segment.path.name for segment in segments(place)}
    wanted = [segment for segment in segments(folder) if segment.is_closed and segment.path.name not in known]
    for segment in wanted:
        _copy(segment.path, files, target)
    return len(wanted)


def _copy(path: Path, files: FileSystem, target: Location) -> None:
    """Copy a segment. An object appears when it is closed; a file of this machine is renamed when it is complete."""
    folder, complete = path.parent.name, f"{path.parent.name}/{path.name}"
    written = f"{folder}/_{path.name}{PARTIAL_SUFFIX}" if target.is_path else complete
    files.create_dir(folder)
    with path.open("rb") as source, files.open_output_stream(written) as copy:
        while part := source.read(_PART):
            copy.write(part)
    if target.is_path:
        files.move(written, complete)


class PeriodicUpload:
    """Uploads a capture from a thread while the block runs, and once more at its end.

    An upload that fails is logged and repeated. The last one raises its error.

    Args:
        folder: the capture, which may not exist yet.
        place: a path or URI.
        every: seconds between uploads.

    Raises:
        UnsupportedLocation: the place has an unknown scheme.
    """

    def __init__(self, folder: str, place: str, every: float = UPLOAD_SECONDS) -> None:
        Location.parse(place)
        self._folder = folder
        self._place = place
        self._every = every
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kwire-upload", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        upload(self._folder, self._place)

    def _run(self) -> None:
        while not self._stopped.wait(self._every):
            try:
                upload(self._folder, self._place)
            except (NotACapture, OSError) as error:
                log.warning("uploading %s to %s is repeated: %s", self._folder, self._place, error)
