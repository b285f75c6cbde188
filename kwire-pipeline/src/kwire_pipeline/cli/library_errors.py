"""Errors of delta-rs, Arrow, DuckDB, and Spark as one sentence, with the folder that a command works on and a remedy.

What kwire foresees has errors of its own. The libraries have more to say about broken disks and damaged files, and a
traceback names neither the folder nor what to do.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire_pipeline.store.errors import StoreFault

if TYPE_CHECKING:
    from collections.abc import Iterator

_STORAGE = frozenset({"deltalake", "_internal", "pyarrow", "duckdb", "_duckdb"})
"""The modules of errors about files; `_internal` is the compiled module of deltalake."""

_SPARK = frozenset({"pyspark", "py4j"})


class LibraryFailed(StoreFault, RuntimeError):
    """A library failed while a command worked on a folder."""


@contextmanager
def library_errors(folder: str, remedy: str) -> Iterator[None]:
    """Raise errors of libraries with the folder that a command works on.

    Args:
        folder: the folder.
        remedy: the operator's part if files are the cause.

    Raises:
        LibraryFailed: in place of such an error.
    """
    try:
        yield
    except KwireError:
        raise
    except Exception as error:
        modules = {base.__module__.partition(".")[0] for base in type(error).__mro__}
        if not (modules & (_STORAGE | _SPARK) or _is_of_library(error)):
            raise
        line = next((line for line in map(str.strip, str(error).split("\n")) if line), type(error).__name__)
        if modules & _SPARK:
            raise LibraryFailed(folder, f"Spark failed: {line}: see its log for the cause") from error
        raise LibraryFailed(folder, f"{line}: {remedy}") from error


def _is_of_library(error: Exception) -> bool:
    """Return whether an error of the system has the text of a library, in place of the system's text and a file."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    return error.errno is None or error.strerror != os.strerror(error.errno)
