"""What is said over a connection, in which order: frames, correlation ids, versions. No sockets, no clock, no threads.

``ClientConnection`` says what to send and what an answer belongs to; ``FrameReceiver`` takes frames out of a stream;
``NegotiatedVersions`` is what a server told of its versions. ``ConnectionFault`` is what can go wrong, with its facts.
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
