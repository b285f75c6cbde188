"""Clients of Kafka brokers on asyncio: connections, a metadata poller, and an admin client.

`Connection` sends requests to one broker; `BlockingConnection` does so without asyncio. `Poller` polls the metadata of
a cluster and reports its changes (`kwire.metadata.events`); `BlockingPoller` does so without asyncio. `AdminClient` and
`BlockingAdminClient` administer clusters of Kafka and of the drafts of KIP-4 (`kwire.client.admin`). All of them take a
`ConnectionConfig` with TLS and SASL (`kwire.client.security`).
"""

from __future__ import annotations

from kwire._util.late_names import late_names

_MODULES = {
    "kwire.client.admin": ("AdminClient", "BlockingAdminClient"),
    "kwire.client.blocking_connection": ("BlockingConnection",),
    "kwire.client.blocking_poller": ("BlockingPoller",),
    "kwire.client.connection": ("Connection", "TimedResponse"),
    "kwire.client.connection_config": ("ConnectionConfig",),
    "kwire.client.poll": ("Poll", "Statistics"),
    "kwire.client.polled_offsets": ("group_offsets",),
    "kwire.client.polled_requests": ("PolledRequest", "broker_configs", "log_dirs", "topic_configs"),
    "kwire.client.poller": ("Poller",),
    "kwire.client.security.client_properties": ("ClientProperties",),
    "kwire.metadata.events": ("MetadataEvent",),
    "kwire.protocol.endpoint": ("Endpoint",),
    "kwire.protocol.errors": ("AuthenticationFailed", "ConnectionFault", "TlsHandshakeFailed"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
