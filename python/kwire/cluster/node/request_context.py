"""What request handlers may use: the parts of the node, and the facts of the request's header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kwire.client.connection_pool import ConnectionPool
    from kwire.cluster.config.live_config import LiveConfig
    from kwire.cluster.config.node_settings import NodeSettings
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.node.finalized_features import FeatureCache
    from kwire.cluster.node.metadata_cache import MetadataCache
    from kwire.cluster.node.metadata_updates import MetadataUpdates
    from kwire.cluster.node.tools import ToolRunner
    from kwire.messages.kip4.structures import Broker
    from kwire.protocol.endpoint import Endpoint


@dataclass(slots=True)
class NodeServices:
    """The parts of one node."""

    config: LiveConfig
    metadata: MetadataCache
    features: FeatureCache
    metadata_updates: MetadataUpdates
    tools: ToolRunner
    connections: ConnectionPool
    """Connections to other nodes."""
    backend: AdminBackend | None = None
    """The controller of the current ZooKeeper session; it answers 22 unless this node is the active controller."""

    @property
    def settings(self) -> NodeSettings:
        """The effective settings."""
        return self.config.current

    @property
    def controller(self) -> Broker | None:
        """The active controller, if this node knows it."""
        return self.metadata.brokers.get(self.metadata.controller_id)

    @property
    def controller_endpoint(self) -> Endpoint | None:
        """Where this node connects to the active controller, if it knows it."""
        return self.metadata.broker_endpoints.get(self.metadata.controller_id)


class RequestContext(NamedTuple):
    """The context of one request."""

    node: NodeServices
    version: int
    client_id: str | None = None

    @property
    def backend(self) -> AdminBackend:
        """The backend of administrative commands."""
        backend = self.node.backend
        assert backend is not None, "a node listens only once it has had a session"
        return backend
