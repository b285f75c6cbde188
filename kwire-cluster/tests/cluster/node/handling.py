"""Requests sent to the handler of their API, without a listener."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire.client.connection_pool import ConnectionPool
from kwire_cluster.config.live_config import LiveConfig
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.node.metadata.metadata_cache import MetadataCache
from kwire_cluster.node.metadata.metadata_updates import MetadataUpdates
from kwire_cluster.node.requests.apis import find_handler
from kwire_cluster.node.requests.request_context import NodeServices, RequestContext
from kwire_cluster.node.settings.finalized_features import FeatureCache
from kwire_cluster.node.tool_connections import ToolConnections
from kwire_cluster.node.tools import Caller, ProcessRights, ToolRunner

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire_cluster.controller.backend import AdminBackend


def node_services(backend: AdminBackend | None = None, **settings: Any) -> NodeServices:
    """Return the services of a node without a ZooKeeper session."""
    metadata = MetadataCache()
    node_settings = NodeSettings(id=1, zookeeper="none", **settings)
    return NodeServices(
        LiveConfig(node_settings),
        metadata,
        FeatureCache(node_settings.supported_features, metadata.mark_changed),
        MetadataUpdates(metadata),
        ToolRunner(ProcessRights("none", ()), _no_connections),
        ConnectionPool(client_id="node-1", timeout=10.0),
        backend,
    )


def _no_connections(caller: Caller) -> ToolConnections:
    raise NotImplementedError(f"{caller.subject}: a node without a listener runs no process")


_SERVICES = node_services()


async def handle(message: Message, version: int, backend: AdminBackend, client_id: str | None = None) -> Any:
    """Return the response of the handler."""
    context = RequestContext(replace(_SERVICES, backend=backend), version, client_id)
    response = find_handler(type(message))(message, context)
    return await response if inspect.isawaitable(response) else response
