"""What a mounted file system must be able to do for the tables of a pipeline."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from kwire.errors import KwireError

if TYPE_CHECKING:
    from pathlib import Path


class UnsupportedMount(KwireError, RuntimeError):
    """The file system of a folder lacks an operation.

    Attributes:
        folder: the folder.
        operation: the operation, as the system names it.
    """

    def __init__(self, folder: Path, operation: str, error: OSError) -> None:
        super().__init__(folder, operation, error)
        self.folder = folder
        self.operation = operation
        self.reason = error.strerror

    def __str__(self) -> str:
        return (
            f"{self.folder}: its file system has no {self.operation} ({self.reason}), with which Delta tables commit:"
            " use a local disk, another mount, or the URI of an object store"
        )


def require_links(folder: Path) -> None:
    """Check that a folder can have hard links: delta-rs commits by a link, which fails if the version exists.

    Raises:
        UnsupportedMount: it cannot.
        OSError: it cannot be written.
    """
    name = folder / f".kwire-{uuid.uuid4().hex}"
    linked = name.with_suffix(".link")
    name.touch()
    try:
        os.link(name, linked)
    except OSError as error:
        raise UnsupportedMount(folder, "link", error) from error
    finally:
        linked.unlink(missing_ok=True)
        name.unlink(missing_ok=True)
