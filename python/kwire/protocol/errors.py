"""What can go wrong between a client and one broker.

Rules of this file: every fault names the endpoint and carries its facts as attributes; its text is one line, fit for a
log and for the ``error`` column of a capture. But for NoCommonVersion a connection that had a fault is of no more use,
since nobody knows what its next bytes belong to.

    ConnectionFault
    ├── ConnectFailed        no connection came about
    ├── ConnectionClosed     it ended while answers were due
    ├── Timeout              no answer in time
    ├── WrongCorrelation     an answer to something else
    ├── OversizedFrame       a size that no answer has
    ├── InvalidResponse            bytes that are not the answer they should be: the DecodeError is in it
    ├── NegotiationFailed   the broker would not tell its versions
    └── NoCommonVersion      the broker and we know no version in common; the connection goes on
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.errors import KwireError

if TYPE_CHECKING:
    from kwire.errors import DecodeError
    from kwire.protocol.endpoint import Endpoint

__all__ = [
    "ConnectFailed",
    "ConnectionClosed",
    "ConnectionFault",
    "InvalidResponse",
    "NegotiationFailed",
    "NoCommonVersion",
    "OversizedFrame",
    "Timeout",
    "WrongCorrelation",
]


class ConnectionFault(KwireError):
    """The base of all of them. ``endpoint``: of the broker."""

    def __init__(self, endpoint: Endpoint, *facts: object) -> None:
        super().__init__(endpoint, *facts)
        self.endpoint = endpoint

    def reason(self) -> str:
        """What happened, without where."""
        return type(self).__name__

    def __str__(self) -> str:
        return f"{self.endpoint}: {self.reason()}"


class ConnectFailed(ConnectionFault):
    """No connection came about. ``cause``: such as ``[Errno 111] Connection refused``."""

    def __init__(self, endpoint: Endpoint, cause: str) -> None:
        super().__init__(endpoint, cause)
        self.cause = cause

    def reason(self) -> str:
        return f"cannot connect: {self.cause}"


class ConnectionClosed(ConnectionFault):
    """The connection ended while an answer was due.

    ``received``: bytes of the unfinished answer that had come, its size included. ``cause``: what ended it when it was
    not the broker's orderly close, such as ``Connection reset by peer``; None otherwise.
    """

    def __init__(self, endpoint: Endpoint, received: int, cause: str | None = None) -> None:
        super().__init__(endpoint, received, cause)
        self.received = received
        self.cause = cause

    def reason(self) -> str:
        what = "closed by the broker" if self.cause is None else f"closed ({self.cause})"
        return f"{what} after {self.received} bytes of the answer"


class Timeout(ConnectionFault):
    """No answer in time. ``request``: name of the message that was sent; ``timeout``: seconds that were waited.

    ``received``: bytes of the answer that had come.
    """

    def __init__(self, endpoint: Endpoint, request: str, timeout: float, received: int = 0) -> None:
        super().__init__(endpoint, request, timeout, received)
        self.request = request
        self.timeout = timeout
        self.received = received

    def reason(self) -> str:
        what = f"only {self.received} bytes of the answer" if self.received else "no answer"
        return f"{what} to {self.request} within {self.timeout:g} s"


class WrongCorrelation(ConnectionFault):
    """An answer to something else. ``expected``: the oldest unanswered id, None when no answer was due; ``actual``."""

    def __init__(self, endpoint: Endpoint, expected: int | None, actual: int) -> None:
        super().__init__(endpoint, expected, actual)
        self.expected = expected
        self.actual = actual

    def reason(self) -> str:
        due = "none was due" if self.expected is None else f"{self.expected} was due"
        return f"an answer with correlation id {self.actual} where {due}"


class OversizedFrame(ConnectionFault):
    """A frame that says it is negative in size, or larger than allowed. ``size``, ``max_size``: in bytes."""

    def __init__(self, endpoint: Endpoint, size: int, max_size: int) -> None:
        super().__init__(endpoint, size, max_size)
        self.size = size
        self.max_size = max_size

    def reason(self) -> str:
        return f"a frame of {self.size} bytes where between 4 and {self.max_size} are allowed"


class InvalidResponse(ConnectionFault):
    """Bytes that are not the answer they should be.

    ``message``, ``version``: what they should have been; ``error``: what is wrong with them, its offset counted from
    the start of ``payload``, which is the whole answer from its correlation id. ``request``: the bytes of what it
    should have answered, from the API key; None where nothing was asked.
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
        return f"no {self.message} of version {self.version}: {self.error}"


class NegotiationFailed(ConnectionFault):
    """The broker would not tell its versions. ``error_code``: its reason, such as 42 for our client's name."""

    def __init__(self, endpoint: Endpoint, error_code: int) -> None:
        super().__init__(endpoint, error_code)
        self.error_code = error_code

    def reason(self) -> str:
        return f"ApiVersions answered with error {self.error_code}"


class NoCommonVersion(ConnectionFault):
    """A request that broker and client have no version of in common; nothing was sent, the connection goes on.

    ``message``: its name; ``client_versions``: such as ``0-13``; ``broker_versions``: lowest and highest, None when the broker does not
    answer this API at all.
    """

    def __init__(
        self, endpoint: Endpoint, message: str, client_versions: str, broker_versions: tuple[int, int] | None
    ) -> None:
        super().__init__(endpoint, message, client_versions, broker_versions)
        self.message = message
        self.client_versions = client_versions
        self.broker_versions = broker_versions

    def reason(self) -> str:
        theirs = (
            "does not answer it"
            if self.broker_versions is None
            else f"answers {self.broker_versions[0]}-{self.broker_versions[1]}"
        )
        return f"no common version of {self.message}: we have {self.client_versions}, the broker {theirs}"
