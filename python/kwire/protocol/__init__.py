"""The client side of a connection without I/O: frames, correlation ids, API versions, and errors.

`ClientConnection` encodes requests and matches responses to them, `FrameReceiver` splits a stream into frames, and
`NegotiatedVersions` holds the API versions of a broker. Every error is a `ConnectionFault`. The package has no sockets,
clocks, or threads.
"""

from __future__ import annotations

from kwire.protocol.client_connection import ClientConnection, ReceivedResponse, SentRequest
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import (
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    InvalidResponse,
    NegotiationFailed,
    NoCommonVersion,
    OversizedFrame,
    Timeout,
    WrongCorrelation,
)
from kwire.protocol.frame_receiver import FrameReceiver
from kwire.protocol.negotiated_versions import NegotiatedVersions

__all__ = [
    "ClientConnection",
    "ConnectFailed",
    "ConnectionClosed",
    "ConnectionFault",
    "Endpoint",
    "FrameReceiver",
    "InvalidResponse",
    "NegotiatedVersions",
    "NegotiationFailed",
    "NoCommonVersion",
    "OversizedFrame",
    "ReceivedResponse",
    "SentRequest",
    "Timeout",
    "WrongCorrelation",
]
