"""Lower versions of the first request for servers that close the connection at newer ones.

The first request of a connection asks for the API versions, so its own version is the only one that a client has to
guess. A broker of Kafka answers an unknown version with error 35 and its own versions (KIP-511). Servers that imitate
Kafka may close the connection instead, without a word:

| server                             | closes the connection at | source                              |
|------------------------------------|--------------------------|-------------------------------------|
| Azure Event Hubs                   | version 4 and above      | twmb/franz-go#1022, kafka-python#2602 |

So the same address is asked again with lower versions. What the answer lacks then, such as features, the server does
not have either. A port that speaks TLS closes each of these connections as well: the error of the first one is
reported.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, TypeVar
from kwire.messages.kafka.api_versions import ApiVersionsRequest
from kwire.protocol import ConnectFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.protocol import ConnectionFault

T = TypeVar("T")

LOWER_VERSIONS = (3, 0)
"""The newest version that servers like these are known to have (Kafka 2.4), and the version of all servers."""


class ClosedAtVersions(Exception):
    """The server closed the connection before it answered the first request.

    Attributes:
        fault: the error for the caller.
    """

    def __init__(self, fault: ConnectionFault) -> None:
        super().__init__(fault)
        self.fault = fault


async def open_with_fallback(highest: int | None, begin: Callable[[int], Awaitable[T]]) -> T:
    """Return what `begin` returns for the first version at which the server does not close the connection.

    Args:
        highest: the version to begin with; None for the newest one.
        begin: opens a connection with a version of ApiVersions; raises ClosedAtVersions.

    Raises:
        ConnectionFault: the error of another kind, or of the first connection.
    """
    first = ApiVersionsRequest.versions.highest if highest is None else highest
    closed: ConnectionFault | None = None
    for version in (first, *(lower for lower in LOWER_VERSIONS if lower < first)):
        try:
            return await begin(version)
        except ClosedAtVersions as error:
            closed = closed or error.fault
        except ConnectFailed:
            if closed is None:
                raise
            break  # the broker is going down: its first fault says so
    assert closed is not None, "each version has returned or failed"
    raise closed from None
