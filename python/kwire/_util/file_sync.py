"""Syncing files to disk, on file systems that can."""

from __future__ import annotations

import errno
import os

__all__ = ["sync_file"]

UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""Errors with which mounts of object stores and of other systems say that they have no such operation."""


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
