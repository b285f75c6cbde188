"""Errors of connections: texts, pickling, and the errors of the operating system that they are."""

from __future__ import annotations

import pickle

from kwire import DecodeError, KwireError
from kwire.protocol import (
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    Endpoint,
    InvalidResponse,
    NegotiationFailed,
    NoCommonVersion,
    OversizedFrame,
    Timeout,
    WrongCorrelation,
)
from tests.for_rows import for_rows

BROKER = Endpoint("broker-1", 9092)

TRUNCATED = DecodeError("truncated", 5, ("brokers",), 4, 0)


@for_rows(
    ("fault", "text"),
    [
        (ConnectFailed(BROKER, "refused"), "cannot connect: refused"),
        (ConnectionClosed(BROKER, 0), "closed by the broker after 0 bytes of the response"),
        (ConnectionClosed(BROKER, 7, "reset"), "closed (reset) after 7 bytes of the response"),
        (Timeout(BROKER, "MetadataRequest", 2.0), "no response to MetadataRequest within 2 s"),
        (Timeout(BROKER, "MetadataRequest", 0.5, 9), "only 9 bytes of the response to MetadataRequest within 0.5 s"),
        (WrongCorrelation(BROKER, 1, 2), "response with correlation id 2 instead of 1"),
        (WrongCorrelation(BROKER, None, 2), "unexpected response with correlation id 2"),
        (OversizedFrame(BROKER, 200, 100), "frame of 200 bytes, but between 4 and 100 are allowed"),
        (
            OversizedFrame(BROKER, 0x48545450, 100),
            "received HTTP instead of Kafka's protocol: use the port of a Kafka listener",
        ),
        (
            OversizedFrame(BROKER, 0x15030300, 100),
            "received TLS instead of Kafka's protocol: set security.protocol to SSL or SASL_SSL",
        ),
        (
            InvalidResponse(BROKER, "MetadataResponse", 12, TRUNCATED, b"12345"),
            "invalid MetadataResponse of version 12: brokers: truncated at byte 5: 4 bytes wanted, 0 left",
        ),
        (NegotiationFailed(BROKER, 42), "ApiVersions failed with error code 42"),
        (
            NoCommonVersion(BROKER, "MetadataRequest", "0-13", (14, 15)),
            "no common version of MetadataRequest: kwire supports 0-13, the broker serves 14-15",
        ),
        (
            NoCommonVersion(BROKER, "MetadataRequest", "0-13", None),
            "no common version of MetadataRequest: kwire supports 0-13, the broker does not serve it",
        ),
    ],
    ids=str,
)
def test_error_names_the_broker_and_can_be_pickled(fault: ConnectionFault, text: str) -> None:
    assert str(fault) == f"broker-1:9092: {text}"
    assert fault.endpoint == BROKER
    copied = pickle.loads(pickle.dumps(fault))
    assert (type(copied), str(copied)) == (type(fault), str(fault))
    # Decode errors do not compare by value.
    assert (repr(copied), repr(vars(copied))) == (repr(fault), repr(vars(fault)))
    assert fault.args[0] == BROKER


@for_rows(
    ("fault", "base"),
    [
        (ConnectFailed(BROKER, "[Errno 111] Connection refused", 111), ConnectionError),
        (ConnectionClosed(BROKER, 7, "reset"), ConnectionError),
        (Timeout(BROKER, "MetadataRequest", 0.5, 9), TimeoutError),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_failed_connections_are_os_errors(fault: ConnectionFault, base: type[OSError]) -> None:
    assert isinstance(fault, base)
    assert isinstance(fault, KwireError)
    assert isinstance(fault, OSError)
    copied = pickle.loads(pickle.dumps(fault))
    for error in (fault, copied):
        assert error.errno == (111 if isinstance(error, ConnectFailed) else None)
        assert (error.strerror, error.filename, error.filename2) == (None, None, None)


def test_errors_of_invalid_data_are_not_os_errors() -> None:
    for cls in (WrongCorrelation, OversizedFrame, InvalidResponse, NegotiationFailed, NoCommonVersion):
        assert not issubclass(cls, OSError)


def test_errors_take_keywords() -> None:
    assert ConnectFailed(endpoint=BROKER, cause="refused").args == (BROKER, "refused", None)
    assert Timeout(endpoint=BROKER, request="R", timeout=1.0).args == (BROKER, "R", 1.0, 0)
