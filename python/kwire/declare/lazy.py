"""Base classes of views, which stand for a message or an array that is not decoded yet.

`kwire.views` has the classes. Code below it only needs to recognize views where it requires a real message or a tuple.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def message_of(message: Any) -> Any:
    """Return the message of a view, and anything else unchanged. Calls no method of an object that is not a view."""
    return message.__kwire_message__() if issubclass(type(message), LazyMessage) else message


class LazyMessage:
    """A message. Its fields are decoded when they are read."""

    __slots__ = ()

    def __kwire_message__(self) -> Any:
        """Decode the message."""
        raise NotImplementedError


class LazyArray:
    """An immutable sequence. Its elements are decoded when they are read."""

    __slots__ = ()
    if TYPE_CHECKING:

        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Any]: ...
