"""Files that verbs write: those of the user, or parts of a response."""

from __future__ import annotations

import os
from contextlib import contextmanager
from io import StringIO

from kwire._util.atomic_file import replace_file
from kwire._util.light_typing import TYPE_CHECKING, Protocol, TextIO
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["LocalFiles", "ReturnedFiles", "WrittenFiles"]


class WrittenFiles(Protocol):
    """Writes the files of a verb."""

    def write(self, path: Path, text: str) -> None:
        """Write a file as a whole, or not at all.

        Raises:
            InvalidArgument: the file cannot be written.
        """

    def check_new(self, path: Path) -> None:
        """Check that a file does not exist.

        Raises:
            InvalidArgument: it exists.
        """

    def create(self, path: Path) -> AbstractContextManager[TextIO]:
        """Create a file for a secret before the secret exists. If the block raises, the file is removed.

        Raises:
            InvalidArgument: the file exists, or cannot be written.
        """


class LocalFiles:
    """Files of the user of this process."""

    def write(self, path: Path, text: str) -> None:
        try:
            replace_file(path, text)
        except OSError as error:
            raise InvalidArgument(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from None

    def check_new(self, path: Path) -> None:
        if path.exists():
            raise InvalidArgument(f"{path} exists already")

    @contextmanager
    def create(self, path: Path) -> Iterator[TextIO]:
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InvalidArgument(f"cannot write the secret to {path}: {error.strerror}") from None
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            try:
                yield stream
            except BaseException:
                path.unlink()
                raise


class ReturnedFiles:
    """Texts of files in place of files.

    Attributes:
        texts: the texts by path.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def write(self, path: Path, text: str) -> None:
        self.texts[str(path)] = text

    def check_new(self, path: Path) -> None:
        """Accept every path: no file is written."""

    @contextmanager
    def create(self, path: Path) -> Iterator[TextIO]:
        stream = StringIO()
        yield stream
        self.write(path, stream.getvalue())
