"""Talking to brokers, on asyncio: connections, and polling the metadata of a cluster.

``Connection`` sends a request and gives its answer; ``Poller`` asks all brokers again and again and tells what changed,
as ``kwire.metadata.events``. ``PolledRequest``, ``topic_configs`` and ``broker_configs`` say what else it is to ask.
``AdminClient`` administers a cluster that speaks the drafts of KIP-4; what goes in and comes out of it is in
``kwire.client.admin``.
"""

from __future__ import annotations

from kwire.client.admin import AdminClient, BlockingAdminClient
from kwire.client.blocking_poller import BlockingPoller
from kwire.client.connection import Arrival, Connection
from kwire.client.poll import Poll, Statistics
from kwire.client.polled_requests import PolledRequest, broker_configs, topic_configs
from kwire.client.poller import Poller
from kwire.metadata.events import MetadataEvent
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectionFault

__all__ = [
    "AdminClient",
    "Arrival",
    "BlockingAdminClient",
    "BlockingPoller",
    "Connection",
    "ConnectionFault",
    "Endpoint",
    "MetadataEvent",
    "Poll",
    "PolledRequest",
    "Poller",
    "Statistics",
    "broker_configs",
    "topic_configs",
]
