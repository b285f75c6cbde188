"""Clients of Kafka brokers on asyncio: connections, a metadata poller, and an admin client.

`Connection` sends requests to one broker. `Poller` polls the metadata of a cluster and reports its changes
(`kwire.metadata.events`); `BlockingPoller` does so without asyncio. `AdminClient` and `BlockingAdminClient` administer
clusters that implement the drafts of KIP-4 (`kwire.client.admin`). All of them take a `ConnectionConfig` with TLS and
SASL (`kwire.client.security`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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

_MODULE_OF = {
    "AdminClient": "kwire.client.admin",
    "AuthenticationFailed": "kwire.protocol.errors",
    "BlockingAdminClient": "kwire.client.admin",
    "BlockingPoller": "kwire.client.blocking_poller",
    "Connection": "kwire.client.connection",
    "ConnectionConfig": "kwire.client.connection_config",
    "ConnectionFault": "kwire.protocol.errors",
    "Endpoint": "kwire.protocol.endpoint",
    "MetadataEvent": "kwire.metadata.events",
    "Poll": "kwire.client.poll",
    "PolledRequest": "kwire.client.polled_requests",
    "Poller": "kwire.client.poller",
    "Statistics": "kwire.client.poll",
    "TimedResponse": "kwire.client.connection",
    "TlsHandshakeFailed": "kwire.protocol.errors",
    "broker_configs": "kwire.client.polled_requests",
    "topic_configs": "kwire.client.polled_requests",
}

if not TYPE_CHECKING:  # otherwise every misspelled name would have type Any

    def __getattr__(name: str) -> Any:
        """Import a public name on first use: commands and the admin client need no poller."""
        from importlib import import_module

        if name not in _MODULE_OF:
            raise AttributeError(f"module 'kwire.client' has no attribute {name!r}")
        value = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
