"""Copying the closed segments of a capture to an object store or HDFS.

A capture is written on a local disk, since an object store has no files that grow. Closed segments never change: they
are copied in the order of their rows, and each appears as a whole. Readers see the rows of the open tail after it was
closed (`kwire.capture.ROLL_SECONDS`).
"""

from __future__ import annotations

import logging
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kwire._util.atomic_file import open_new
from kwire.capture.errors import NotACapture, UploadConflict
from kwire.capture.folder import PARTIAL_SUFFIX, segments
from kwire.storage.location import Location

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

    from kwire.capture.folder import Segment

log = logging.getLogger(__name__)

UPLOAD_SECONDS = 60.0
_PART = 8 << 20


def upload(folder: str, location: str) -> int:
    """Copy the closed segments of a capture that another location lacks, and return their number.

    Args:
        folder: the capture on this machine.
        location: a path or URI.

    Raises:
        NotACapture: the folder does not exist.
        UnsupportedLocation: the location has an unknown scheme.
        UploadConflict: the location has another capture.
    """
    target = Location.parse(location)
    files = target.files()
    uploaded: tuple[Segment, ...] = ()
    if target.is_path:
        Path(target.native).mkdir(parents=True, exist_ok=True)
    with suppress(NotACapture):  # the first upload
        uploaded = segments(location)
    uploaded_names = {segment.path.name for segment in uploaded}
    own = [segment for segment in segments(folder) if segment.is_closed]
    missing = [segment for segment in own if segment.path.name not in uploaded_names]
    names = {segment.path.name for segment in own}
    for segment in uploaded:
        if missing and segment.first_row >= missing[0].first_row and segment.path.name not in names:
            raise UploadConflict(location, segment.path.name)
    for segment in missing:
        _copy(segment.path, files, target)
    return len(missing)


def continue_uploaded(folder: str, location: str) -> None:
    """Continue a capture that another machine has uploaded: copy its newest segment if the folder has none.

    Args:
        folder: the folder of the capture; it need not exist.
        location: a path or URI, which may have no capture yet.
    """
    with suppress(NotACapture):
        if segments(folder):
            return
    with suppress(NotACapture):
        newest = segments(location)[-1]
        path = Path(folder) / newest.path.parent.name / newest.path.name
        uploaded = Location.parse(location).child(f"{path.parent.name}/{path.name}")
        partial = path.with_name(f"_{path.name}{PARTIAL_SUFFIX}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with uploaded.open() as source, open_new(partial) as copy:
            shutil.copyfileobj(source, copy)
        partial.rename(path)


def remove_uploaded(folder: str) -> None:
    """Delete the closed segments of a capture, which are all uploaded, except for the newest."""
    for segment in [segment for segment in segments(folder) if segment.is_closed][:-1]:
        segment.path.unlink()


def _copy(path: Path, files: FileSystem, target: Location) -> None:
    """Copy a segment. An object appears when it is closed; a file of this machine is renamed when it is complete."""
    folder, complete = path.parent.name, f"{path.parent.name}/{path.name}"
    written = f"{folder}/_{path.name}{PARTIAL_SUFFIX}" if target.is_path else complete
    files.create_dir(folder)
    if target.is_path:
        with suppress(FileNotFoundError):  # a link of this name would be followed
            files.delete_file(written)
    with path.open("rb") as source:
        copy = files.open_output_stream(written)
        shutil.copyfileobj(source, copy, _PART)
        copy.close()  # completes the object, so it is left open if the segment cannot be copied to its end
    if target.is_path:
        files.move(written, complete)


class PeriodicUpload:
    """Uploads a capture from a thread while the block runs, and once more at its end.

    A capture that is not on this machine continues what the location has. A failed upload is logged and repeated. The
    last one raises its error.

    Args:
        folder: the capture, which need not exist yet.
        location: a path or URI.
        every: seconds between uploads; without newly closed segments, the location is not asked.
        is_staging: True to delete uploaded segments from the folder.

    Raises:
        UnsupportedLocation: the location has an unknown scheme.
    """

    def __init__(self, folder: str, location: str, every: float = UPLOAD_SECONDS, *, is_staging: bool = False) -> None:
        Location.parse(location)
        self._folder = folder
        self._location = location
        self._every = every
        self._is_staging = is_staging
        self._closed: list[str] | None = None
        self._failure: UploadConflict | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kwire-upload", daemon=True)

    def __enter__(self) -> Self:
        continue_uploaded(self._folder, self._location)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._upload_new()

    def check(self) -> None:
        """Raise the error that ended the uploads, if any.

        Raises:
            UploadConflict: the location has another capture.
        """
        if self._failure is not None:
            raise self._failure

    @property
    def has_uploaded(self) -> bool:
        """True if the location has segments of the capture."""
        return bool(self._closed)

    def _upload_new(self) -> None:
        if self._closed_segments() != self._closed:
            upload(self._folder, self._location)
            if self._is_staging:
                remove_uploaded(self._folder)
            self._closed = self._closed_segments()

    def _closed_segments(self) -> list[str]:
        return [segment.path.name for segment in segments(self._folder) if segment.is_closed]

    def _run(self) -> None:
        while not self._stopped.wait(self._every):
            try:
                self._upload_new()
            except (NotACapture, OSError) as error:
                log.warning("uploading %s to %s is repeated: %s", self._folder, self._location, error)
            except UploadConflict as conflict:
                log.error("uploading %s has ended: %s", self._folder, conflict)
                self._failure = conflict
                return
