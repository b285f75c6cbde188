"""Names for completion from what a verb has listed, so that the next Tab need not ask the cluster."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from kwire.cli.completion.name_cache import NameFile
from kwire.operations.declaration import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.operations.declaration import Operation

__all__ = ["remember"]


def remember(verb: Operation, rows: Sequence[Any], choice: str | None, *, complete: bool, changed: bool) -> None:
    """Store the names that a verb has listed, or expire all names of the cluster after a change.

    If the cache cannot be written, completion asks the cluster.

    Args:
        choice: what identifies the cluster; None if nothing does.
        complete: whether the verb has listed everything.
        changed: whether the verb has changed something.
    """
    if choice is None:
        return
    with suppress(OSError):
        if changed:
            from kwire.operations.names import NAMES

            for kind in NAMES:
                NameFile(choice, kind).expire()
        elif verb.lists is not None and complete:
            first = fields(verb.result)[0].name
            names = [str(getattr(row, first)) for row in rows if not isinstance(row, Failure)]
            NameFile(choice, verb.lists).write(names)
