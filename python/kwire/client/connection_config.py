"""The configuration that everything which connects to brokers shares."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, Literal, TypeAlias
from kwire.messages.kafka.api_versions import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from socket import socket
    from typing import TypedDict

    from kwire.client.security.credentials import SaslCredentials
    from kwire.client.security.tls import TlsConfig
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

    SecurityProtocol: TypeAlias = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]

    class ConnectionOptions(TypedDict, total=False):
        """The options of `Connection.open`."""

        client_id: str | None
        timeout: float
        max_size: int
        config: ConnectionConfig | None


MAX_IDLE_S = 540.0
"""Seconds: the default of `connections.max.idle.ms` in Kafka's clients, below the 600 of its brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionConfig:
    """The security and the protocol of connections to the brokers of one cluster, and how long they are kept.

    `Connection.open`, `ConnectionPool`, `Poller`, `BlockingPoller`, and `AdminClient.open` take it as `config=`. The
    default is plaintext without authentication. A configuration is immutable, can be shared by any number of
    connections and event loops, and shows no secrets.

    Attributes:
        open_socket: returns a connected stream socket to a broker, such as one through a proxy or a tunnel, where
            TCP connections of this process are not wanted; None for TCP. TLS and SASL run inside this socket.
        tls: encrypts the connection and verifies the broker; None for plaintext.
        sasl: authenticates the client; None for no authentication beyond a client certificate.
        dialect: `kafka` or `kip4`, whatever the brokers list; None for the dialect that they show.
        api_versions: the version of the first ApiVersions request, for servers that close the connection at newer ones;
            None for the newest one. After such a close, lower versions are tried in any case.
        max_idle: seconds without a request after which a pooled connection is closed (`connections.max.idle.ms`), to be
            opened again with the next request; None keeps it. Set it below the time after which a load balancer
            forgets connections.

    Raises:
        ValueError: the dialect is unknown, or `max_idle` is not a positive number.
    """

    open_socket: Callable[[Endpoint], Awaitable[socket]] | None = None
    tls: TlsConfig | None = None
    sasl: SaslCredentials | None = None
    dialect: Dialect | None = None
    api_versions: int | None = None
    max_idle: float | None = MAX_IDLE_S

    def __post_init__(self) -> None:
        if self.api_versions is not None and self.api_versions not in ApiVersionsRequest.versions:
            raise ValueError(f"api_versions is {self.api_versions!r}: it must be in {ApiVersionsRequest.versions}")
        if self.dialect not in (None, "kafka", "kip4"):
            raise ValueError(f"dialect is {self.dialect!r}: it must be one of None, 'kafka', 'kip4'")
        if self.max_idle is not None and not self.max_idle > 0:
            raise ValueError(f"max_idle is {self.max_idle!r}: it must be a number of seconds above 0, or None")

    @staticmethod
    def check(config: object) -> ConnectionConfig:
        """Return a configuration; plaintext for None.

        Raises:
            TypeError: it is something else, such as the path of a file.
        """
        if config is None:
            return PLAINTEXT
        if not isinstance(config, ConnectionConfig):
            raise TypeError(
                f"config must be a ConnectionConfig, not {type(config).__name__}: "
                "use ClientProperties.load(path).connection"
            )
        return config

    @property
    def security_protocol(self) -> SecurityProtocol:
        """The value of Kafka's `security.protocol`."""
        if self.sasl is None:
            return "PLAINTEXT" if self.tls is None else "SSL"
        return "SASL_PLAINTEXT" if self.tls is None else "SASL_SSL"


PLAINTEXT = ConnectionConfig()
