"""Syncing files to disk, on file systems that can, and naming files in the errors of their descriptors."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["named_errors", "sync_file"]

UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""Errors with which mounts of object stores and of other systems say that they have no such operation."""


@contextmanager
def named_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name a file in errors of its descriptor, such as a full disk: the system does not know the name."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def sync_file(descriptor: int) -> None:
    """Write a file or a directory to disk. File systems without that operation keep what they keep.

    Raises:
        OSError: it cannot be written.
    """
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
