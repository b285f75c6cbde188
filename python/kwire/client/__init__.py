"""Clients of Kafka brokers on asyncio: connections, a metadata poller, and an admin client.

`Connection` sends requests to one broker. `Poller` polls the metadata of a cluster and reports its changes
(`kwire.metadata.events`); `BlockingPoller` does so without asyncio. `AdminClient` and `BlockingAdminClient` administer
clusters that implement the drafts of KIP-4 (`kwire.client.admin`). All of them take a `ConnectionConfig` with TLS and
SASL (`kwire.client.security`).
"""

from __future__ import annotations

from kwire.late_names import late_names

__all__ = [
    "AdminClient",
    "AuthenticationFailed",
    "BlockingAdminClient",
    "BlockingPoller",
    "Connection",
    "ConnectionConfig",
    "ConnectionFault",
    "Endpoint",
    "MetadataEvent",
    "Poll",
    "PolledRequest",
    "Poller",
    "Statistics",
    "TimedResponse",
    "TlsHandshakeFailed",
    "broker_configs",
    "group_offsets",
    "log_dirs",
    "topic_configs",
]

__getattr__, __dir__ = late_names(__name__)
