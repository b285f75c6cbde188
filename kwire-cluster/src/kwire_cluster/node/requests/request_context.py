"""Context of request handlers: the parts of the node, the facts of the request's header, and its sender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwire.authorization.acl_entries import CLUSTER_NAME
from kwire.authorization.subjects import ANONYMOUS, Subject
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.backend import ValidatingBackend
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node.listener.connection_limits import CloseReason, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.authorization.acl_authorizer import AclAuthorizer, Permission
    from kwire.client.connection_pool import ConnectionPool
    from kwire.messages.kip4.structures import Broker
    from kwire.protocol.endpoint import Endpoint
    from kwire_cluster.config.live_config import LiveConfig
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.controller.backend import AdminBackend
    from kwire_cluster.node.listener.connection_limits import ConnectedClient, Dispatch
    from kwire_cluster.node.metadata.metadata_cache import MetadataCache
    from kwire_cluster.node.metadata.metadata_updates import MetadataUpdates
    from kwire_cluster.node.settings.finalized_features import FeatureCache
    from kwire_cluster.node.tools import ToolRunner
    from kwire_cluster.security.sasl_authentication import ScramUsers

MAX_CLIENT_ID = 100
"""Characters of a client id in the audit, which is kept in the memory of ZooKeeper. Chosen, not measured."""


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
    cluster_id: str | None = None
    """The id of the cluster, once a session has read it."""
    dispatch: Dispatch | None = None
    """Answers requests that other nodes forward for their clients."""
    authorizer: AclAuthorizer | None = None
    """Decides who may do what; None if everybody may do everything."""
    scram_users: ScramUsers | None = None
    """The credentials that this node has taken over from ZooKeeper; None if it does not use SASL."""
    status: Callable[[], dict[str, object]] = dict
    """Returns the state of the node, as the tool `status` prints it."""

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
        """The endpoint of the active controller for this node; None if it is unknown."""
        return self.metadata.broker_endpoints.get(self.metadata.controller_id)


class RequestContext(NamedTuple):
    """The context of one request."""

    node: NodeServices
    version: int
    client_id: str | None = None
    subject: Subject = Subject()
    """The sender."""
    client: ConnectedClient | None = None
    """Its connection; None in requests of the node itself."""

    @property
    def author(self) -> str:
        """The principal, the client id, and the address of the sender, for the audit."""
        address = self.client.address if self.client is not None else ""
        principal = "" if self.subject.principal == ANONYMOUS else self.subject.principal
        client_id = (self.client_id or "")[:MAX_CLIENT_ID]
        return " ".join(part for part in (principal, client_id, address) if part) or "unknown"

    @property
    def backend(self) -> AdminBackend:
        """The backend of administrative commands."""
        backend = self.node.backend
        assert backend is not None, "a node listens only once it has had a session"
        if self.client is not None and self.client.validates_only:
            return ValidatingBackend(backend)
        return backend

    async def answer_inner(self, payload: bytes, client: ConnectedClient) -> bytes:
        """Return the response, without its size, to a request that this one contains.

        Args:
            payload: the inner request.
            client: its sender.

        Raises:
            InvalidRequest: it cannot be answered.
        """
        dispatch = self.node.dispatch
        assert dispatch is not None, "a node has a dispatcher before it has connections"
        answered = dispatch(payload, client)
        frame = answered if isinstance(answered, bytes | tuple) else await answered
        whole = frame if isinstance(frame, bytes) else b"".join(frame)
        return whole[4:]

    @property
    def metadata(self) -> MetadataCache:
        """The metadata of the cluster, for a response.

        Raises:
            InvalidRequest: this node is not ready. TopicMetadata has no error code for that, and clients of
                ClusterMetadata never needed one: after a closed connection, they ask another node, or again.
        """
        metadata = self.node.metadata
        if not metadata.is_complete:
            detail = "the controller has not sent all metadata in this ZooKeeper session yet"
            raise InvalidRequest(detail, CloseReason.NOT_READY)
        return metadata

    @property
    def is_unrestricted(self) -> bool:
        """True if the sender is allowed everything."""
        authorizer = self.node.authorizer
        return authorizer is None or authorizer.is_super_user(self.subject)

    def allows(self, permission: Permission, name: str = CLUSTER_NAME) -> bool:
        """Return whether the sender may perform an operation on the resource of this name."""
        authorizer = self.node.authorizer
        return authorizer is None or authorizer.allows(self.subject, permission, name)

    def require(self, permission: Permission, name: str = CLUSTER_NAME) -> None:
        """Check that the sender may perform an operation.

        Raises:
            CommandError: the sender lacks the permission; code 31 for the cluster, 29 for other resources.
        """
        if not self.allows(permission, name):
            raise denied(permission, name, self.subject)


def denied(permission: Permission, name: str, subject: Subject) -> CommandError:
    """Return the error for a missing permission."""
    is_cluster = permission.resource_type == "Cluster"
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if is_cluster else ErrorCode.TOPIC_AUTHORIZATION_FAILED
    resource = "the cluster" if is_cluster else f"{permission.resource_type} {name[:100]}"
    return CommandError(code, f"{subject.principal} needs the permission {permission.operation} on {resource}")
