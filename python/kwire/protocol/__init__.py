"""Connections without I/O: frames, correlation ids, API versions, and errors.

`ClientConnection` is the client's side: it encodes requests and matches responses to them. `ServerConnection` is the
server's side: it splits received bytes into requests, and brings responses into their order. `Conversation` pairs the
requests and responses of captured traffic. `FrameReceiver` splits a stream into frames, and `NegotiatedVersions` holds
the API versions of a broker. `kwire.protocol.sasl` authenticates. Every error of a connection is a `ConnectionFault`.
The package has no sockets, clocks, or threads.
"""

from __future__ import annotations

from kwire._util.late_names import late_names

_MODULES = {
    "kwire.protocol.client_connection": ("ClientConnection", "ReceivedResponse", "SentRequest"),
    "kwire.protocol.conversation": ("Conversation", "Exchange", "NoMessage"),
    "kwire.protocol.endpoint": ("Endpoint",),
    "kwire.protocol.errors": (
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
    ),
    "kwire.protocol.frame_receiver": ("FrameReceiver",),
    "kwire.protocol.negotiated_versions": ("NegotiatedVersions",),
    "kwire.protocol.server_connection": ("PendingRequest", "ServerConnection"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
