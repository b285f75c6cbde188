"""Files that are written as a whole, beside other programs that may write to the same folder.

A temporary name that can be guessed can be made a symbolic link before, and writing to it overwrites the target of the
link. So every temporary file has a random name or is created here in any case, and no link is followed.

A device, a pipe, or a socket cannot be replaced: a file in its place would be the end of `/dev/null` for the whole
machine if root writes there. Its content is written into it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from kwire._util.file_sync import sync_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["open_new", "replace_file"]

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):  # Windows lacks the first two, and others the last
    FLAGS |= getattr(os, _name, 0)


def open_new(path: str | os.PathLike[str], mode: int = 0o666) -> BinaryIO:
    """Create a file that replaces one of the same name, which a crash may have left, and open it for writing.

    Args:
        path: the file.
        mode: its permissions before the umask.

    Raises:
        FileExistsError: another program has created it at this moment.
        OSError: the file cannot be created.
    """
    with suppress(FileNotFoundError):
        os.unlink(path)
    return os.fdopen(os.open(path, FLAGS, mode), "wb")


def replace_file(
    path: str | os.PathLike[str], content: str | bytes, *, mode: int = 0o666, is_synced: bool = False
) -> None:
    """Write a file as a whole or not at all. Readers see the old content or the new one.

    Args:
        path: the file; if it is a symbolic link, the link is replaced. A device, a pipe, a socket, and a name of an
            open file such as `/dev/stdout` are written to.
        content: bytes, or a text that is stored in UTF-8.
        mode: permissions of the file before the umask.
        is_synced: true to wait until the content is on disk before the name is.

    Raises:
        OSError: the file cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    if _is_stream(path):
        # Appending leaves what the same process has written to a file that is its stdout.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as stream:
            stream.write(data)
        return
    temporary = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.partial")
    try:
        with open_new(temporary, mode) as file:
            file.write(data)
            if is_synced:
                file.flush()
                sync_file(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            # The caller knows no temporary name, and errors of descriptors, such as a full disk, have no name.
            reason = error.strerror if error.filename2 is None else f"{error.strerror} (rename)"
            raise type(error)(error.errno, reason, os.fspath(path)) from error
        raise


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a name stands for something that is written to, and not for a file that can be replaced.

    Only links in folders of the system are followed, such as `/dev/stdout` and `/dev/fd/63`.
    """
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False  # it does not exist, or writing it fails in the same way
    if stat.S_ISLNK(mode):
        folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
        return folder == "/dev" or folder.startswith("/proc/")
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
