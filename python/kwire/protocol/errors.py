"""Errors of a connection to one broker.

Every error names the endpoint and has its details as attributes. Its text is one line, suitable for a log and for the
column `error` of a capture. After any of them except `NoCommonVersion` the connection must be closed, because its next
bytes cannot be attributed to a request.

    ConnectionFault
    ├── ConnectFailed        the connection could not be opened; also a ConnectionError
    │   └── AdvertisedAddressUnreachable  and the address came from the metadata of the cluster
    ├── TlsHandshakeFailed   TLS could not be established; also a ConnectionError
    ├── AuthenticationFailed SASL authentication failed; also a ConnectionError
    ├── ConnectionClosed     the connection ended while responses were expected; also a ConnectionError
    ├── Timeout              no response in time; also a TimeoutError
    ├── WrongCorrelation     a response to another request
    ├── WrongBroker          a response of another broker, or of a broker of another cluster
    ├── OversizedFrame       an invalid frame size
    ├── InvalidResponse      a malformed response; contains the DecodeError
    ├── NegotiationFailed    the broker did not return its API versions
    └── NoCommonVersion      broker and client have no common version; the connection stays usable

ConnectionError and TimeoutError are OSErrors, so programs can handle these errors like asyncio's.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError
from kwire.frame import other_protocol

if TYPE_CHECKING:
    from kwire.errors import DecodeError
    from kwire.protocol.endpoint import Endpoint

__all__ = [
    "AdvertisedAddressUnreachable",
    "AuthenticationFailed",
    "ConnectFailed",
    "ConnectionClosed",
    "ConnectionFault",
    "InvalidResponse",
    "NegotiationFailed",
    "NoCommonVersion",
    "OversizedFrame",
    "Timeout",
    "TlsHandshakeFailed",
    "WrongBroker",
    "WrongCorrelation",
]


class ConnectionFault(KwireError):
    """The base class of errors of a connection.

    Attributes:
        endpoint: the broker.
        retriable: true if another attempt may succeed, perhaps at another broker. Others fail until someone changes a
            configuration.
    """

    retriable: bool = True

    def __init__(self, endpoint: Endpoint, *details: object) -> None:
        super().__init__()
        self.args = (endpoint, *details)  # OSError would take arguments for errno, strerror, and filename
        self.endpoint = endpoint

    def reason(self) -> str:
        """Return the text of the error without the endpoint."""
        return type(self).__name__

    def __str__(self) -> str:
        return f"{self.endpoint}: {self.reason()}"


class ConnectFailed(ConnectionFault, ConnectionError):
    """The connection could not be opened.

    Attributes:
        cause: the error of the operating system, such as `[Errno 111] Connection refused`.
        errno: its number; None if the error has none, or did not come from the operating system.
    """

    def __init__(self, endpoint: Endpoint, cause: str, errno: int | None = None) -> None:
        super().__init__(endpoint, cause, errno)
        self.cause = cause
        self.errno = errno

    def reason(self) -> str:
        return f"cannot connect: {self.cause}"


class AdvertisedAddressUnreachable(ConnectFailed):
    """No connection to an address that the cluster advertises (`advertised.listeners`) has ever succeeded.

    That is usual for tunnels, containers, and networks with names of their own: the address of the bootstrap server
    works, and the addresses that it lists do not.

    Attributes:
        retriable: true for the first seconds: the broker may also be restarting.
    """

    def __init__(self, endpoint: Endpoint, cause: str, errno: int | None = None, retriable: bool = False) -> None:
        super().__init__(endpoint, cause, errno)
        self.retriable = retriable

    def reason(self) -> str:
        advice = "a broker advertises this address (advertised.listeners), and this machine cannot reach it"
        return f"{super().reason()}: {advice}"


class TlsHandshakeFailed(ConnectionFault, ConnectionError):
    """TLS could not be established, because one side rejects the other or they have nothing in common.

    With TLS 1.3 a broker may reject the client's certificate only when the client has completed the handshake.

    Attributes:
        cause: the probable cause and what to check, such as an expired certificate.
        retriable: true if the broker closed the connection without a reason, as it also does when it stops.
    """

    def __init__(self, endpoint: Endpoint, cause: str, retriable: bool = False) -> None:
        super().__init__(endpoint, cause, retriable)
        self.cause = cause
        self.retriable = retriable

    def reason(self) -> str:
        return f"TLS handshake failed: {self.cause}"


class AuthenticationFailed(ConnectionFault, ConnectionError):
    """SASL authentication failed. It is not retriable.

    Attributes:
        mechanism: the SASL mechanism, such as `SCRAM-SHA-512`.
        user: the user name; None if the mechanism does not know it.
        cause: the reason, by the broker or the mechanism.
        error_code: the error code of the broker, such as 58 (SASL_AUTHENTICATION_FAILED); 0 if the client ended the
            exchange.
    """

    retriable = False

    def __init__(self, endpoint: Endpoint, mechanism: str, user: str | None, cause: str, error_code: int = 0) -> None:
        super().__init__(endpoint, mechanism, user, cause, error_code)
        self.mechanism = mechanism
        self.user = user
        self.cause = cause
        self.error_code = error_code

    def reason(self) -> str:
        user = "" if self.user is None else f" of user {self.user!r}"
        return f"SASL/{self.mechanism} authentication{user} failed: {self.cause}"


class ConnectionClosed(ConnectionFault, ConnectionError):
    """The connection ended while a response was expected.

    Attributes:
        received: bytes of the incomplete response that arrived, including the size prefix.
        cause: the reason of the end, such as `Connection reset by peer`; None if the broker closed it.
        hint: the usual cause; None if unknown.
    """

    def __init__(self, endpoint: Endpoint, received: int, cause: str | None = None, hint: str | None = None) -> None:
        super().__init__(endpoint, received, cause, hint)
        self.received = received
        self.cause = cause
        self.hint = hint

    def reason(self) -> str:
        closed = "closed by the broker" if self.cause is None else f"closed ({self.cause})"
        hint = "" if self.hint is None else f": {self.hint}"
        return f"{closed} after {self.received} bytes of the response{hint}"


class Timeout(ConnectionFault, TimeoutError):
    """No response arrived in time.

    Attributes:
        request: the name of the request message.
        timeout: seconds waited.
        received: bytes of the response that arrived.
    """

    def __init__(self, endpoint: Endpoint, request: str, timeout: float, received: int = 0) -> None:
        super().__init__(endpoint, request, timeout, received)
        self.request = request
        self.timeout = timeout
        self.received = received

    def reason(self) -> str:
        received = f"only {self.received} bytes of the response" if self.received else "no response"
        return f"{received} to {self.request} within {self.timeout:g} s"


class WrongCorrelation(ConnectionFault):
    """A response has the correlation id of another request.

    Attributes:
        expected: the correlation id of the oldest request in flight; None without requests.
        actual: the correlation id of the response.
    """

    def __init__(self, endpoint: Endpoint, expected: int | None, actual: int) -> None:
        super().__init__(endpoint, expected, actual)
        self.expected = expected
        self.actual = actual

    def reason(self) -> str:
        if self.expected is None:
            return f"unexpected response with correlation id {self.actual}"
        return f"response with correlation id {self.actual} instead of {self.expected}"


class WrongBroker(ConnectionFault):
    """Another broker than the expected one responds at an address, such as after the broker has moved.

    Attributes:
        expected: the id of the expected broker.
        actual: the ids of the brokers at the address, as the response lists them; empty if it lists another cluster.
        cluster_id: the id of the other cluster; None if the broker belongs to the same one.
    """

    def __init__(
        self, endpoint: Endpoint, expected: int, actual: tuple[int, ...], cluster_id: str | None = None
    ) -> None:
        super().__init__(endpoint, expected, actual, cluster_id)
        self.expected = expected
        self.actual = actual
        self.cluster_id = cluster_id

    def reason(self) -> str:
        if self.cluster_id is not None:
            return f"a broker of cluster {self.cluster_id} responds instead of broker {self.expected}"
        return f"broker {' or '.join(map(str, self.actual))} responds instead of broker {self.expected}"


class OversizedFrame(ConnectionFault):
    """The size of a frame is negative or above the limit.

    Attributes:
        size: the size in the frame's prefix, in bytes.
        max_size: the limit.
    """

    def __init__(self, endpoint: Endpoint, size: int, max_size: int) -> None:
        super().__init__(endpoint, size, max_size)
        self.size = size
        self.max_size = max_size

    def reason(self) -> str:
        protocol = other_protocol(self.size)
        if protocol == "TLS":
            return "received TLS instead of Kafka's protocol: set security.protocol to SSL or SASL_SSL"
        if protocol is not None:
            return f"received {protocol} instead of Kafka's protocol: use the port of a Kafka listener"
        return f"frame of {self.size} bytes, but between 4 and {self.max_size} are allowed"


class InvalidResponse(ConnectionFault):
    """A response cannot be decoded.

    Attributes:
        message: the name of the expected message.
        version: the expected version.
        error: the decode error; its offset counts from the start of `payload`.
        payload: the whole response, starting at the correlation id.
        request: the payload of the request, starting at the API key; None if no request was in flight, or if it may
            carry a secret.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        message: str,
        version: int,
        error: DecodeError,
        payload: bytes,
        request: bytes | None = None,
    ) -> None:
        super().__init__(endpoint, message, version, error, payload, request)
        self.message = message
        self.version = version
        self.error = error
        self.payload = payload
        self.request = request

    def reason(self) -> str:
        return f"invalid {self.message} of version {self.version}: {self.error}"


class NegotiationFailed(ConnectionFault):
    """The broker responded to ApiVersions with an error.

    Attributes:
        error_code: such as 42 (INVALID_REQUEST) for a client name that the broker rejects.
    """

    def __init__(self, endpoint: Endpoint, error_code: int) -> None:
        super().__init__(endpoint, error_code)
        self.error_code = error_code

    def reason(self) -> str:
        return f"ApiVersions failed with error code {self.error_code}"


class NoCommonVersion(ConnectionFault):
    """Broker and client have no common version of a request. Nothing was sent, and the connection stays usable.

    Attributes:
        message: the name of the request.
        client_versions: the versions that kwire supports, such as `0-13`.
        broker_versions: the lowest and highest version of the broker; None if it does not serve the API.
    """

    retriable = False

    def __init__(
        self, endpoint: Endpoint, message: str, client_versions: str, broker_versions: tuple[int, int] | None
    ) -> None:
        super().__init__(endpoint, message, client_versions, broker_versions)
        self.message = message
        self.client_versions = client_versions
        self.broker_versions = broker_versions

    def reason(self) -> str:
        served = self.broker_versions
        broker = "does not serve it" if served is None else f"serves {served[0]}-{served[1]}"
        return f"no common version of {self.message}: kwire supports {self.client_versions}, the broker {broker}"
