"""Operations that the file system of a folder may lack, tried before anything depends on them.

Mounts of object stores and of other systems have a part of the operations of local disks only. A program that needs one
of the others would otherwise fail late: a capture records polls for an hour before it renames its first segment.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from enum import StrEnum

from kwire._util.atomic_file import FLAGS
from kwire._util.file_sync import UNSUPPORTED, sync_file
from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MountOperation", "UnsupportedMount", "require_operations"]


LINKED, RENAMED = ".linked", ".renamed"
"""Suffixes of the files of a probe."""


class MountOperation(StrEnum):
    """An operation of a file system, as the system names it."""

    APPEND = "append (O_APPEND)"
    CREATE = "exclusive creation (O_EXCL)"
    LINK = "link"
    RENAME = "rename"
    UNLINK = "unlink"


class UnsupportedMount(KwireError, RuntimeError):
    """The file system of a folder lacks an operation.

    Attributes:
        folder: the folder.
        operation: the operation, as the system names it.
        purpose: the files that need the operation, in the plural.
        reason: the answer of the system.
    """

    def __init__(self, folder: Path, operation: str, purpose: str, reason: str | None) -> None:
        super().__init__(folder, operation, purpose, reason)
        self.folder = folder
        self.operation = operation
        self.purpose = purpose
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{self.folder}: its file system has no {self.operation} ({self.reason}), which {self.purpose} need: use a"
            " local disk or another mount"
        )


def require_operations(folder: Path, purpose: str, *operations: MountOperation) -> None:
    """Check that files can be created, written, and removed in a folder, and that its file system has operations.

    Args:
        folder: the folder, which must exist.
        purpose: the files that need them, in the plural, such as "Delta tables".
        operations: further operations.

    Raises:
        UnsupportedMount: the file system lacks one of them.
        OSError: the folder cannot be written, such as on a full disk; the error names the folder.
    """
    probe = folder / f".kwire-{os.urandom(8).hex()}"
    try:
        for operation in dict.fromkeys((MountOperation.CREATE, *operations, MountOperation.UNLINK)):
            _try(operation, folder, purpose, probe)
    finally:
        for suffix in ("", LINKED, RENAMED):
            with suppress(OSError):
                probe.with_suffix(suffix).unlink()


def _try(operation: MountOperation, folder: Path, purpose: str, probe: Path) -> None:
    try:
        match operation:
            case MountOperation.CREATE:
                _write(probe, FLAGS)
            case MountOperation.APPEND:
                _write(probe, os.O_WRONLY | os.O_APPEND)
            case MountOperation.LINK:
                os.link(probe, probe.with_suffix(LINKED))
            case MountOperation.RENAME:
                _write(new := probe.with_suffix(RENAMED), FLAGS)
                new.replace(probe)  # over a file, as an atomic replacement is
            case MountOperation.UNLINK:
                probe.unlink()
    except OSError as error:
        # A folder in which nothing can be created has other reasons to refuse than the lack of O_EXCL.
        refusals = UNSUPPORTED if operation is MountOperation.CREATE else UNSUPPORTED | {errno.EPERM}
        if error.errno in refusals:
            raise UnsupportedMount(folder, operation, purpose, error.strerror) from error
        raise type(error)(error.errno, error.strerror, os.fspath(folder)) from error


def _write(path: Path, flags: int) -> None:
    """Write a byte and sync it, so that a full disk shows."""
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b"\n")
        sync_file(descriptor)
    finally:
        os.close(descriptor)
