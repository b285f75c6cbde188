"""A node: a listener, the metadata cache, and one ZooKeeper session after another.

A node without a session keeps answering from its cache, and answers commands with 22. When a session ends, the node
opens another one until it is stopped; only the first session is required to succeed. With a new session, the first one
included, it is not ready until the controller has sent the full metadata: it has missed the updates in between.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from functools import partial
from random import uniform
from typing import TYPE_CHECKING

from kwire._util.guess_limit import GuessLimit
from kwire.authorization.acl_authorizer import AclAuthorizer
from kwire.client.connection_pool import ConnectionPool
from kwire_cluster.config.live_config import LiveConfig
from kwire_cluster.config.node_settings import CLIENT_LISTENER
from kwire_cluster.config.value_types import is_wildcard
from kwire_cluster.node.controller_tools import request_controlled_shutdown, request_full_metadata
from kwire_cluster.node.listener.authentication import identify_by_connection, identify_by_sasl
from kwire_cluster.node.listener.connection_limits import Limits
from kwire_cluster.node.listener.listener import Listener
from kwire_cluster.node.logs import LineLimit, logger
from kwire_cluster.node.metadata.metadata_cache import MetadataCache, broker_endpoint
from kwire_cluster.node.metadata.metadata_updates import MetadataUpdates
from kwire_cluster.node.metrics import Metrics
from kwire_cluster.node.requests.request_context import NodeServices
from kwire_cluster.node.requests.request_dispatcher import RequestDispatcher
from kwire_cluster.node.session import NodeSession
from kwire_cluster.node.settings.finalized_features import FeatureCache
from kwire_cluster.node.tool_connections import ToolConnections
from kwire_cluster.node.tools import Caller, NodeTool, ProcessRights, ToolRunner
from kwire_cluster.request_quotas import RequestQuotas
from kwire_cluster.security.node_security import NodeSecurity, check_reachability, has_sasl
from kwire_cluster.security.sasl_authentication import ScramUsers
from kwire_cluster.zookeeper import Credentials, RegisteredEndpoint, Store, StoreError, connect
from kwire_cluster.zookeeper.operations import CREATOR_ALL_WORLD_READ, OPEN_ACL_UNSAFE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.node.listener.connection_limits import CloseReason, ConnectedClient

RECONNECT_SECONDS = 0.5
CLOSED_LINES = 50
"""Lines in a second about connections that were closed."""
ASK_SECONDS = 0.2
"""Pause before the controller is asked for the full metadata: several gaps cause one request."""
NODE_TIMEOUT = 10.0
"""Seconds to connect to another node, and to wait for each of its responses."""

log = logger(__name__)


class Node:
    """One node. `host` and `port` are the address that other nodes and clients connect to.

    Args:
        settings: the settings.
        tools: returns the tools for Admin requests; `kwire_zookeeper_tools.on_node` has those of kwire.
    """

    def __init__(self, settings: NodeSettings, tools: Callable[[NodeServices], Iterable[NodeTool]]) -> None:
        self.config = LiveConfig(settings)
        self.config.listen(self._settings_changed)
        self.metadata = MetadataCache()
        self.features = FeatureCache(settings.supported_features, self.metadata.mark_changed)
        self.metrics = Metrics(settings.id)
        self.host, self.port = "", 0
        self.metrics_port = 0
        self._scram_users = ScramUsers()
        self._security = NodeSecurity(settings, self._scram_users)
        self._connections = ConnectionPool(
            client_id=f"node-{settings.id}", timeout=NODE_TIMEOUT, config=self._security.connection
        )
        self.authorizer = authorizer(settings)
        # Handlers get their services as one value, so that they can be tested without a node. The dispatcher needs it
        # as well, so `dispatch` is set afterwards.
        rights = ProcessRights(settings.zookeeper, settings.tool_folders)
        self._services = NodeServices(
            self.config,
            self.metadata,
            self.features,
            MetadataUpdates(self.metadata),
            ToolRunner(rights, self._connections_of_tool),
            self._connections,
            authorizer=self.authorizer,
            scram_users=self._used_scram_users,
            status=self.status,
        )
        self._services.tools.register(tools(self._services))
        self._dispatcher = RequestDispatcher(self._services, self.metrics, has_sasl=bool(self._security.mechanisms))
        self._services.dispatch = self._dispatcher.dispatch
        self._guesses = GuessLimit()
        self._quotas = RequestQuotas()
        self._listener = self._make_listener(self._security.client_protocol)
        self._broker_listener = self._make_listener(self._security.broker_protocol)
        self._session: NodeSession | None = None
        self._session_loop: asyncio.Task[None] | None = None
        self._compatibility: asyncio.Task[None] | None = None
        self._services.metadata_updates.on_gap = self._ask_for_metadata
        self._asking: asyncio.Task[None] | None = None
        self._stop_metrics: Callable[[], None] | None = None
        self._stopped = False
        self._closed_lines = LineLimit(CLOSED_LINES)
        self._has_ended = asyncio.Event()

    def _make_listener(self, protocol: str) -> Listener:
        security, dispatcher = self._security, self._dispatcher
        by_certificate = partial(identify_by_connection, rules=self.settings.ssl_principal_rules)
        identify = identify_by_sasl(security.mechanisms, self._guesses) if has_sasl(protocol) else by_certificate
        return Listener(
            dispatcher.dispatch,
            self,
            limits(self.settings),
            dispatcher.cached_responses,
            identify,
            security.tls_of(protocol),
            self._quotas,
        )

    @property
    def settings(self) -> NodeSettings:
        """The effective settings."""
        return self.config.current

    def _settings_changed(self) -> None:
        log.info("settings have changed", node_id=self.settings.id)
        for listener in (self._listener, self._broker_listener):
            listener.connections.limits = limits(self.settings)

    # Start and stop

    async def start(self) -> None:
        """Start listening, register, and join the controller election.

        If it fails, nothing is left running.

        Raises:
            OSError: an address is in use.
            Unreachable: ZooKeeper cannot be reached (`kwire_cluster.zookeeper.errors`).
            IdInUse: another node is registered with this id (`kwire_cluster.node.session`).
            IncompatibleFeatures: the node does not support the finalized features of the cluster.
            SettingError: other machines could reach a listener without authentication.
        """
        try:
            await self._start()
        except BaseException:
            await self._stop(grace=0)
            raise

    async def _start(self) -> None:
        settings = self.settings
        await self._check_reachability()
        loop = asyncio.get_running_loop()
        session = await self._open_session()
        await session.follow()
        await self._listener.start(*settings.listen)
        self.host, self.port = settings.advertised or (self._listener.host, self._listener.port)
        if is_wildcard(self.host):
            self.host = await asyncio.to_thread(socket.getfqdn)
        if settings.metrics is not None:
            self._add_gauges()
            self.metrics_port, self._stop_metrics = self.metrics.serve(*settings.metrics)
        if settings.broker_listen is not None:
            await self._broker_listener.start(*settings.broker_listen)
        await self._join(session)
        self._session_loop = loop.create_task(self._replace_sessions(), name="sessions")
        self._compatibility = loop.create_task(self._stop_if_incompatible(), name="compatibility")
        log.info("node started", node_id=settings.id, host=self.host, port=self.port, unused=sorted(settings.unused))

    async def _check_reachability(self) -> None:
        """Check that other machines can reach only listeners with authentication, unless that is allowed.

        Raises:
            SettingError: they can reach another listener.
        """
        settings, security = self.settings, self._security
        if settings.allow_anonymous:
            return
        if not security.authenticates(security.client_protocol):
            await asyncio.to_thread(check_reachability, "listeners", settings.listen[0])
        if settings.broker_listen is not None and not security.authenticates(security.broker_protocol):
            await asyncio.to_thread(check_reachability, "inter.broker.listener", settings.broker_listen[0])

    async def stop(self, grace: float = 5.0) -> None:
        """Move leaders away, answer the requests in flight, and end the session. It may be called again.

        Args:
            grace: seconds to wait for the requests in flight.
        """
        if self._stopped:
            return
        if self.settings.controlled_shutdown and self._session is not None and self._session.broker_epoch >= 0:
            await request_controlled_shutdown(self._services, self.settings.controlled_shutdown_timeout_ms / 1000)
        await self._stop(grace)
        log.info("node stopped", node_id=self.settings.id)

    @property
    def is_ready(self) -> bool:
        """True while the node answers all requests. See `wait_ready`."""
        return self.metadata.is_complete

    async def wait_ready(self) -> None:
        """Wait until the node has received the full metadata, so that it answers all requests."""
        await self.metadata.wait_complete()

    async def wait_ended(self) -> None:
        """Wait until the node has stopped.

        Raises:
            IncompatibleFeatures: it stopped by itself, because it does not support features that were finalized since.
        """
        await self._has_ended.wait()
        if self.features.error is not None:
            raise self.features.error

    def _ask_for_metadata(self) -> None:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._request_metadata(), name="full metadata")

    async def _request_metadata(self) -> None:
        await asyncio.sleep(ASK_SECONDS)
        await request_full_metadata(self._services)

    async def _stop_if_incompatible(self) -> None:
        await self.features.wait_incompatible()
        await self.stop()

    async def _stop(self, grace: float) -> None:
        self._stopped = True
        # Every part is stopped, even if another one fails. The stack runs in reverse order.
        async with AsyncExitStack() as stack:
            stack.callback(self._has_ended.set)
            if self._compatibility is not None and self._compatibility is not asyncio.current_task():
                self._compatibility.cancel()
            if self._asking is not None:
                self._asking.cancel()
            if self._stop_metrics is not None:
                stack.push_async_callback(asyncio.to_thread, self._stop_metrics)
            stack.push_async_callback(self._connections.close)
            stack.push_async_callback(self._services.tools.stop)
            stack.push_async_callback(self._listener.stop, grace)
            stack.push_async_callback(self._broker_listener.stop, grace)
            if self._session is not None:
                stack.push_async_callback(self._session.close)
            if self._session_loop is not None:
                self._session_loop.cancel()
                await asyncio.gather(self._session_loop, return_exceptions=True)

    def _endpoints(self) -> tuple[RegisteredEndpoint, ...]:
        """Return the endpoints to register."""
        settings, protocol = self.settings, self._security.client_protocol
        # Tools of Kafka 0.9.0 to 0.10.1 take the name of a listener as its protocol.
        name = protocol if settings.client_listener == CLIENT_LISTENER else settings.client_listener
        endpoints = (RegisteredEndpoint(name, self.host, self.port, protocol),)
        listener = self._broker_listener
        if not listener.is_listening:
            return endpoints
        host = self.host if is_wildcard(listener.host) else listener.host
        return (
            *endpoints,
            RegisteredEndpoint(settings.broker_listener, host, listener.port, self._security.broker_protocol),
        )

    # ZooKeeper

    @property
    def session(self) -> NodeSession | None:
        """The current ZooKeeper session, or the last one."""
        return self._session

    @property
    def _used_scram_users(self) -> ScramUsers | None:
        """The credentials of users; None if this node does not use SASL."""
        return self._scram_users if self._security.mechanisms else None

    async def _open_session(self) -> NodeSession:
        session = NodeSession(
            await self._connect_zookeeper(),
            self.config,
            self.metadata,
            self.features,
            self.authorizer,
            self._used_scram_users,
            self._send_metadata,
        )
        self._session = session
        self._services.metadata_updates.begin_session(session)
        self._services.backend = session.controller
        return session

    async def _connect_zookeeper(self) -> Store:
        settings = self.settings
        secret = settings.zookeeper_credentials
        return await connect(
            settings.zookeeper,
            session_timeout=settings.zookeeper_session_timeout_ms / 1000,
            connect_timeout=settings.zookeeper_connection_timeout_ms / 1000,
            acl=CREATOR_ALL_WORLD_READ if settings.zookeeper_set_acl else OPEN_ACL_UNSAFE,
            credentials=[Credentials("digest", secret.reveal())] if secret is not None else (),
            make_chroot=True,
        )

    def _connections_of_tool(self, caller: Caller) -> ToolConnections:
        """Return the connections of a run of a tool, as its user."""
        peer = caller.client.address if caller.client is not None else caller.subject.host
        address, config = (self.host, self.port), self._security.connection
        return ToolConnections(self._listener, self.metadata, self.settings.id, address, config, caller.subject, peer)

    async def _replace_sessions(self) -> None:
        """Whenever the session has ended, open another one."""
        assert self._session is not None
        while True:
            await self._session.wait_ended()
            log.warning("the ZooKeeper session has ended")
            await self._session.close()
            while not await self._start_session():
                await asyncio.sleep(uniform(0.5, 1.5) * RECONNECT_SECONDS)

    async def _start_session(self) -> bool:
        """Open and start a session, and return whether it succeeded."""
        try:
            session = await self._open_session()
        except StoreError as error:
            log.warning("cannot open a ZooKeeper session, retrying", reason=str(error))
            return False
        try:
            await session.follow()
            await self._join(session)
        except Exception:  # whatever the reason, a node without a session is useless: retry
            log.exception("cannot start the ZooKeeper session, retrying")
            await session.close()
            return False
        return True

    async def _join(self, session: NodeSession) -> None:
        await session.join(self._endpoints())
        self._services.cluster_id = session.cluster_id or self._services.cluster_id

    async def _send_metadata(self, broker_id: int, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Send UpdateMetadata for this node's controller; to this node itself without a connection."""
        if broker_id == self.settings.id:
            return await self._services.metadata_updates.apply(request)
        [endpoint] = [broker_endpoint(broker.endpoints) for broker in request.live_brokers if broker.id == broker_id]
        return await self._connections.send(endpoint, request)

    # Status and metrics

    def status(self) -> dict[str, object]:
        """Return what the tool `status` prints. It may be called from any thread."""
        session, metadata = self._session, self.metadata
        return {
            "id": self.settings.id,
            "is_ready": self.is_ready,
            "address": f"{self.host}:{self.port}",
            "is_controller": session is not None and session.controller.is_active,
            "zookeeper": session.store.state if session is not None else "closed",
            "broker_epoch": session.broker_epoch if session is not None else -1,
            "cluster_id": session.cluster_id if session is not None else "",
            "controller_id": metadata.controller_id,
            "controller_epoch": metadata.controller_epoch,
            "brokers": sorted(metadata.brokers),
            "topics": len(metadata.topics),
            "partitions": sum(len(topic.partitions) for topic in list(metadata.topics.values())),
            "connections": len(self._listener.connections) + len(self._broker_listener.connections),
        }

    def _add_gauges(self) -> None:
        gauges = self.metrics.gauges
        gauges["kwire_is_controller"] = "1 on the controller.", lambda: float(bool(self.status()["is_controller"]))
        gauges["kwire_is_ready"] = "1 once the node has the full metadata.", lambda: float(self.is_ready)
        gauges["kwire_topics"] = "Topics in the metadata cache.", lambda: float(len(self.metadata.topics))
        gauges["kwire_brokers"] = "Live brokers in the metadata cache.", lambda: float(len(self.metadata.brokers))
        gauges["kwire_controller_queue"] = "Events in the queue of the controller.", self._queued_events
        gauges["kwire_controller_epoch"] = "Epoch of the controller.", lambda: float(self.metadata.controller_epoch)

    def _queued_events(self) -> float:
        return float(self._session.controller.queue_size) if self._session is not None else 0.0

    # Observer of the listener

    def opened(self, client: ConnectedClient) -> None:
        del client
        self.metrics.connections += 1

    def closed(self, client: ConnectedClient, reason: CloseReason | None, detail: str) -> None:
        self.metrics.connections -= 1
        if reason is not None:
            self.metrics.closed[reason] += 1
            skipped = self._closed_lines.take()
            if skipped is not None:
                log.warning(
                    "connection closed",
                    peer=client.address,
                    client_id=client.client_id,
                    reason=reason,
                    detail=detail,
                    **({"skipped": skipped} if skipped else {}),
                )

    def failed(self, client: ConnectedClient, error: BaseException) -> None:
        self.metrics.faults += 1
        log.error("request failed", peer=client.address, client_id=client.client_id, exc_info=error)


def authorizer(settings: NodeSettings) -> AclAuthorizer | None:
    """Return the authorizer; None if everybody may do everything."""
    if not settings.authorizer:
        return None
    return AclAuthorizer(settings.super_users, allow_if_no_acl=settings.allow_if_no_acl)


def limits(settings: NodeSettings) -> Limits:
    """Return the limits of connections."""
    return Limits(
        frame=settings.request_bytes,
        broker_frame=settings.broker_request_bytes,
        receive_buffer=settings.receive_buffer_bytes,
        in_flight=settings.requests_in_flight,
        memory=settings.queued_bytes,
        connections=settings.connections,
        connections_per_address=settings.connections_per_address,
        idle=settings.idle_ms / 1000,
        incomplete_frame=settings.slow_client_ms / 1000,
        unread_responses=settings.slow_client_ms / 1000,
    )
