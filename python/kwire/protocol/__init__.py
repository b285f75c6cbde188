"""What is said over a connection, in which order: frames, correlation ids, versions. No sockets, no clock, no threads.

``ClientConnection`` says what to send and what an answer belongs to; ``FrameReceiver`` takes frames out of a stream;
``Negotiated`` is what a server told of its versions. ``ConnectionFault`` is what can go wrong, with its facts.
"""

from __future__ import annotations

from kwire.protocol.client_connection import Answer, ClientConnection, Sent
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.faults import (
    BadAnswer,
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    NegotiationRefused,
    NoCommonVersion,
    OversizedFrame,
    Timeout,
    WrongCorrelation,
)
from kwire.protocol.frame_receiver import FrameReceiver
from kwire.protocol.negotiated import Negotiated

__all__ = [
    "Answer",
    "BadAnswer",
    "ClientConnection",
    "ConnectFailed",
    "ConnectionClosed",
    "ConnectionFault",
    "Endpoint",
    "FrameReceiver",
    "Negotiated",
    "NegotiationRefused",
    "NoCommonVersion",
    "OversizedFrame",
    "Sent",
    "Timeout",
    "WrongCorrelation",
]
