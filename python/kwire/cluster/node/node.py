"""``Node``: a listener, what it knows of the cluster, and one ZooKeeper session after another.

Rules of this file: it puts the parts together and owns their beginning and end; it decides nothing about the cluster.
A node without a session goes on answering what it knows, and answers commands with 22. A session that ends is followed
by another until the node is stopped; only a start fails.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from random import uniform
from typing import TYPE_CHECKING

from kwire.client.connection_pool import ConnectionPool
from kwire.cluster.controller.handlers import Asked, answer, controlled_shutdown
from kwire.cluster.node.controlled_shutdown import leave
from kwire.cluster.node.elected import is_elected
from kwire.cluster.node.listener import Limits, Listener, Peer
from kwire.cluster.node.logs import logger
from kwire.cluster.node.metadata_cache import MetadataCache
from kwire.cluster.node.metrics import Metrics
from kwire.cluster.node.requests import Requests
from kwire.cluster.node.session import NodeSession
from kwire.cluster.node.settings import is_wildcard
from kwire.cluster.node.tools import Surroundings, Tool, ToolRegistry, ToolRunner
from kwire.cluster.zookeeper import StoreError, connect
from kwire.cluster.zookeeper.errors import ConnectionLost
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.cluster.node.settings import NodeSettings
    from kwire.declare import Message
    from kwire.messages.headers import RequestHeader
    from kwire.messages.kip4.admin import AdminRequest, AdminResponse
    from kwire.messages.kip4.structures import Broker, TopicResult

STALE_BROKER_EPOCH = 77
"""Kafka's code for a message to an earlier life of this broker."""
RECONNECT_SECONDS = 0.5
PEER_TIMEOUT = 10.0
"""Seconds to connect to another node, and to wait for each of its responses."""

log = logger(__name__)


class Node:
    """One node. ``await start()``, then ``await stop()``; ``host`` and ``port`` are where others reach it."""

    def __init__(self, settings: NodeSettings, tools: Sequence[Tool] = ()) -> None:
        self.settings = settings
        self.metadata = MetadataCache()
        self.metrics = Metrics(settings.id)
        self.host, self.port = "", 0
        self.metrics_port = 0
        self._peers = ConnectionPool(client_id=f"node-{settings.id}", timeout=PEER_TIMEOUT)
        registry = ToolRegistry(tools)
        self._tools = ToolRunner(registry, Surroundings(settings.id, registry, self.facts))
        requests = Requests(self.metadata, self.metrics, self._tools, self)
        self._listener = Listener(requests.answer, self, limits(settings), requests.known)
        self._session: NodeSession | None = None
        self._sessions: asyncio.Task[None] | None = None
        self._stop_metrics: Callable[[], None] | None = None
        self._taking = asyncio.Lock()
        self._ended = False

    # Life

    async def start(self) -> None:
        """Listen, register, stand for election; when this returns the node is in the cluster.

        Raises OSError for an address in use, ``kwire.cluster.zookeeper.errors.Unreachable``, and
        ``kwire.cluster.node.registration.IdInUse``; nothing is left running then.
        """
        try:
            await self._start()
        except BaseException:
            await self._end(grace=0)
            raise

    async def _start(self) -> None:
        settings = self.settings
        self._session = await self._open()
        await self._listener.start(*settings.listen)
        self.host, self.port = settings.advertised or (self._listener.host, self._listener.port)
        if is_wildcard(self.host):
            self.host = await asyncio.to_thread(socket.getfqdn)
        if settings.metrics is not None:
            self._gauges()
            self.metrics_port, self._stop_metrics = self.metrics.serve(*settings.metrics)
        await self._session.start(self.host, self.port)
        self._sessions = asyncio.get_running_loop().create_task(self._follow_sessions(), name="sessions")
        log.info("node started", node_id=settings.id, host=self.host, port=self.port, unused=sorted(settings.unused))

    async def stop(self, grace: float = 5.0) -> None:
        """In order: leaders are moved away, what is in flight is answered, the session ends. May be called again."""
        if self._ended:
            return
        if self.settings.controlled_shutdown and self._session is not None and self._session.broker_epoch >= 0:
            await leave(self, self.settings.controlled_shutdown_timeout_ms / 1000)
        await self._end(grace)
        log.info("node stopped", node_id=self.settings.id)

    async def _end(self, grace: float) -> None:
        self._ended = True
        # Each part ends whatever became of the others; the last one is the first of these.
        async with AsyncExitStack() as ends:
            if self._stop_metrics is not None:
                ends.push_async_callback(asyncio.to_thread, self._stop_metrics)
            ends.push_async_callback(self._peers.close)
            ends.push_async_callback(self._listener.stop, grace)
            if self._session is not None:
                ends.push_async_callback(self._session.close)
            if self._sessions is not None:
                self._sessions.cancel()
                await asyncio.gather(self._sessions, return_exceptions=True)

    # ZooKeeper

    async def _open(self) -> NodeSession:
        store = await connect(
            self.settings.zookeeper,
            session_timeout=self.settings.zookeeper_session_timeout_ms / 1000,
            connect_timeout=self.settings.zookeeper_connection_timeout_ms / 1000,
            make_chroot=True,
        )
        return NodeSession(store, self.settings, self.metadata, self._send)

    async def _follow_sessions(self) -> None:
        """When a session has ended, begin another, until it works."""
        assert self._session is not None
        while True:
            await self._session.over()
            log.warning("the ZooKeeper session has ended")
            await self._session.close()
            while True:
                try:
                    session = await self._open()
                except StoreError as error:
                    log.warning("no new ZooKeeper session yet", reason=str(error))
                    await asyncio.sleep(uniform(0.5, 1.5) * RECONNECT_SECONDS)  # noqa: S311 - nodes shall not come at once
                    continue
                self._session = session
                try:
                    await session.start(self.host, self.port)
                except Exception:  # whatever it was, a node without a session is of no use: try again
                    log.exception("the new ZooKeeper session did not begin")
                    await session.close()
                    await asyncio.sleep(uniform(0.5, 1.5) * RECONNECT_SECONDS)  # noqa: S311 - as above
                    continue
                break

    # What its controller says

    async def _send(self, broker_id: int, message: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Deliver, as this node's controller asks; to itself without a connection."""
        if broker_id == self.settings.id:
            return await self.take_metadata(message)
        [endpoint] = [broker.endpoints[0] for broker in message.live_brokers if broker.id == broker_id]
        return await self._peers.send(Endpoint(endpoint.host, endpoint.port), message)

    # Duties

    @property
    def creates_topics(self) -> bool:
        return self.settings.auto_create_topics

    async def take_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Messages are taken one by one, in the order in which they came.

        One whose sender has given it up must not overtake what was said since.
        """
        async with self._taking:
            return UpdateMetadataResponse(error_code=await self._take(request))

    async def _take(self, request: UpdateMetadataRequest) -> int:
        """The answer's code. What ZooKeeper alone knows is read first.

        Of a controller that is new to this node: whether it was elected. A node that takes an epoch from anybody who
        names one believes no controller from then on. Of topics that are new to it: their settings. Nobody shall see a
        topic without them.
        """
        session, metadata = self._session, self.metadata
        assert session is not None
        if -1 < request.broker_epoch < session.broker_epoch or session.is_over:
            return STALE_BROKER_EPOCH
        if metadata.is_stale(request):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        sender, epoch = request.controller_id, request.controller_epoch
        try:
            if epoch > metadata.controller_epoch and not await is_elected(session.store, sender, epoch):
                log.warning("metadata from who is not controller", sender=sender, controller_epoch=epoch)
                return ErrorCode.STALE_CONTROLLER_EPOCH
            await session.topic_settings.read(metadata.new_topics(request))
        except ConnectionLost:
            log.info("no connection to ZooKeeper while metadata came")
            return ErrorCode.REQUEST_TIMED_OUT
        except StoreError:  # the session has ended, and this life of the broker with it
            return STALE_BROKER_EPOCH
        return metadata.update(request)

    async def command(self, request: Message, header: RequestHeader) -> Message:
        assert self._session is not None
        asked = Asked(request, header.request_api_version, header.client_id)
        return await answer(asked, self._session.controller)

    async def let_leave(self, request: AdminRequest) -> AdminResponse:
        assert self._session is not None
        return await controlled_shutdown.run(request, self._session.controller)

    async def create_topics(self, names: tuple[str, ...]) -> dict[str, int]:
        settings = self.settings
        request = CreateTopicRequest_V2(
            topics=tuple(
                TopicCreation(
                    topic_name=name,
                    partitions=settings.num_partitions,
                    replication_factor=settings.default_replication_factor,
                    replica_assignment=(),
                    config_entries=(),
                )
                for name in names
            )
        )
        assert self._session is not None
        controller = self.controller_address()
        told: Sequence[TopicResult] = ()
        try:
            if self._session.controller.is_active:
                answered = await answer(Asked(request, 2), self._session.controller)
                assert isinstance(answered, CreateTopicResponse_V2)
                told = answered.topics
            elif controller is not None:
                told = (await self._peers.send(Endpoint(controller.host, controller.port), request)).topics
        except ConnectionFault as fault:
            log.warning("topics were not created automatically", names=names, reason=str(fault))
        return {one.topic_name: one.error_code for one in told}

    # About itself

    @property
    def session(self) -> NodeSession | None:
        """The ZooKeeper session, or the last one that there was."""
        return self._session

    @property
    def peers(self) -> ConnectionPool:
        """Connections to the other nodes of the cluster."""
        return self._peers

    def controller_address(self) -> Broker | None:
        """The controller, as far as this node knows."""
        return self.metadata.brokers.get(self.metadata.controller_id)

    def facts(self) -> dict[str, object]:
        """As the tool ``status`` prints them. Asked from other threads too: what changes is copied at once."""
        session, metadata = self._session, self.metadata
        return {
            "id": self.settings.id,
            "address": f"{self.host}:{self.port}",
            "is_controller": session is not None and session.controller.is_active,
            "zookeeper": session.store.state if session is not None else "closed",
            "broker_epoch": session.broker_epoch if session is not None else -1,
            "controller_id": metadata.controller_id,
            "controller_epoch": metadata.controller_epoch,
            "brokers": sorted(metadata.brokers),
            "topics": len(metadata.topics),
            "partitions": sum(len(topic.partitions) for topic in list(metadata.topics.values())),
            "connections": len(self._listener.connections),
        }

    def _gauges(self) -> None:
        gauges = self.metrics.gauges
        gauges["kwire_is_controller"] = "1 on the controller.", lambda: float(bool(self.facts()["is_controller"]))
        gauges["kwire_topics"] = "Topics that this node knows.", lambda: float(len(self.metadata.topics))
        gauges["kwire_brokers"] = "Live brokers that this node knows.", lambda: float(len(self.metadata.brokers))
        gauges["kwire_controller_queue"] = "Events that wait for the controller.", self._waiting
        gauges["kwire_controller_epoch"] = "Epoch of the controller.", lambda: float(self.metadata.controller_epoch)

    def _waiting(self) -> float:
        return float(self._session.controller.queue_size) if self._session is not None else 0.0

    # What the listener tells

    def opened(self, peer: Peer) -> None:
        del peer
        self.metrics.connections += 1

    def closed(self, peer: Peer, reason: str | None) -> None:
        self.metrics.connections -= 1
        if reason is not None:
            self.metrics.closed[kind_of(reason)] += 1
            log.warning("connection closed", peer=peer.address, client_id=peer.client_id, reason=reason)

    def failed(self, peer: Peer, error: BaseException) -> None:
        self.metrics.faults += 1
        log.error("a request failed", peer=peer.address, client_id=peer.client_id, exc_info=error)


def limits(settings: NodeSettings) -> Limits:
    """What a peer may use up, as the settings say."""
    return Limits(
        frame=settings.request_bytes,
        in_flight=settings.requests_in_flight,
        connections=settings.connections,
        idle=settings.idle_ms / 1000,
        half_frame=settings.slow_peer_ms / 1000,
        slow_reader=settings.slow_peer_ms / 1000,
    )


def kind_of(reason: str) -> str:
    """A reason's first words, for a label: no numbers, so that there are few of them."""
    return " ".join(word for word in reason.partition(":")[0].split() if not any(map(str.isdigit, word)))[:60]
