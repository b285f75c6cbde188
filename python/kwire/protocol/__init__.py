"""Connections without I/O: frames, correlation ids, API versions, and errors.

`ClientConnection` is the client's side: it encodes requests and matches responses to them. `ServerConnection` is the
server's side: it splits received bytes into requests, and brings responses into their order. `Conversation` pairs the
requests and responses of captured traffic. `FrameReceiver` splits a stream into frames, and `NegotiatedVersions` holds
the API versions of a broker. `kwire.protocol.sasl` authenticates. Every error of a connection is a `ConnectionFault`.
The package has no sockets, clocks, or threads.
"""

from __future__ import annotations

from kwire.protocol.client_connection import ClientConnection, ReceivedResponse, SentRequest
from kwire.protocol.conversation import Conversation, Exchange, NoMessage
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import (
    AdvertisedAddressUnreachable,
    AuthenticationFailed,
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    InvalidResponse,
    NegotiationFailed,
    NoCommonVersion,
    OversizedFrame,
    Timeout,
    TlsHandshakeFailed,
    WrongBroker,
    WrongCorrelation,
)
from kwire.protocol.frame_receiver import FrameReceiver
from kwire.protocol.negotiated_versions import NegotiatedVersions
from kwire.protocol.server_connection import PendingRequest, ServerConnection

__all__ = [
    "AdvertisedAddressUnreachable",
    "AuthenticationFailed",
    "ClientConnection",
    "ConnectFailed",
    "ConnectionClosed",
    "ConnectionFault",
    "Conversation",
    "Endpoint",
    "Exchange",
    "FrameReceiver",
    "InvalidResponse",
    "NegotiatedVersions",
    "NegotiationFailed",
    "NoCommonVersion",
    "NoMessage",
    "OversizedFrame",
    "PendingRequest",
    "ReceivedResponse",
    "SentRequest",
    "ServerConnection",
    "Timeout",
    "TlsHandshakeFailed",
    "WrongBroker",
    "WrongCorrelation",
]
