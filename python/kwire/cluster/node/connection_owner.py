"""What a connection needs of its listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections import Counter
    from collections.abc import Awaitable, Callable, Collection
    from typing import TypeAlias

    from kwire.cluster.node.connection_limits import ConnectedClient, Frame, Limits, Observer
    from kwire.cluster.node.server_connection import ServerConnection

    Dispatch: TypeAlias = Callable[[bytes, ConnectedClient], Frame | Awaitable[Frame]]
    """Answers the payload of one frame. Raises InvalidRequest, which closes the connection."""
    Identify: TypeAlias = Callable[[ConnectedClient, asyncio.BaseTransport], None]
    """Sets the subject of a new client, or how it must authenticate."""
    CachedResponses: TypeAlias = Callable[[bytes, int, int, ConnectedClient], tuple[bytes, int, int] | None]
    """Takes the received bytes, the offset of the next request, and how many bytes of responses to return beyond the
    first. Returns frames, the offset behind the last answered request, and the number of requests."""

__all__ = ["ConnectionOwner"]


class ConnectionOwner(Protocol):
    """The listener of a connection."""

    dispatch: Dispatch
    cached_responses: CachedResponses
    observer: Observer
    limits: Limits
    identify: Identify

    reserved: Counter[str]
    """The open connections that are for administration, because they exceed a limit, by address."""

    @property
    def connections(self) -> Collection[object]:
        """The open connections."""

    @property
    def is_adding_up(self) -> bool:
        """Whether connections must wait before they start further requests."""

    def add(self, connection: ServerConnection) -> None:
        """Register an open connection."""

    def remove(self, connection: ServerConnection) -> None:
        """Unregister a closed connection."""

    def exceeded_limit(self, ip_address: str, unopened: int = 0, unopened_of_address: int = 0) -> str | None:
        """Return which limit a further connection of an address exceeds, if any.

        Args:
            ip_address: the address.
            unopened: the number of connections that are accepted, but not opened.
            unopened_of_address: the number of those of this address.
        """

    def occupied_more(self, size: int) -> None:
        """Note that a connection occupies more memory."""
