"""Clients of Kafka brokers on asyncio: connections, a metadata poller, and an admin client.

`Connection` sends requests to one broker. `Poller` polls the metadata of a cluster and reports its changes
(`kwire.metadata.events`); `BlockingPoller` does so without asyncio. `AdminClient` and `BlockingAdminClient` administer
clusters that implement the drafts of KIP-4 (`kwire.client.admin`). All of them take a `ConnectionConfig` with TLS and
SASL (`kwire.client.security`).
"""

from __future__ import annotations

from kwire.client.admin import AdminClient, BlockingAdminClient
from kwire.client.blocking_poller import BlockingPoller
from kwire.client.connection import Connection, TimedResponse
from kwire.client.connection_config import ConnectionConfig
from kwire.client.poll import Poll, Statistics
from kwire.client.polled_requests import PolledRequest, broker_configs, topic_configs
from kwire.client.poller import Poller
from kwire.metadata.events import MetadataEvent
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import AuthenticationFailed, ConnectionFault, TlsHandshakeFailed

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
    "topic_configs",
]
