"""Application of UpdateMetadata requests to the metadata cache.

- Any client can send UpdateMetadata, so the first request of another controller or epoch is verified against
  `/controller` and `/controller_epoch`. Otherwise one request with an epoch that no controller has would make the node
  reject every elected controller. Requests of the known controller and epoch cost no read.
- ZooKeeper decides, not the higher epoch: another program may have lowered or deleted `/controller_epoch`.
- An update that does not continue the last one is rejected, and the controller sends everything. After an update
  without a position, which kwire's controller does not send, the node asks for everything.
- The configs of new topics are read before the topics become visible: UpdateMetadata does not carry configs.
- A session accepts updates once it is registered: an earlier one may be for the registration of the session before, and
  would make old metadata count as complete.
- Nothing waits for a ZooKeeper connection, because waiting would block all other updates. The controller retries.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.messages.kafka.update_metadata import UpdateMetadataResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.metadata_broadcast import GAP, UpdatePosition
from kwire_cluster.node.logs import logger
from kwire_cluster.node.metadata.metadata_cache import FULL_UPDATE
from kwire_cluster.node.znode_watcher import decoded
from kwire_cluster.zookeeper import ActiveController, ControllerEpoch, EntityConfig, SessionState
from kwire_cluster.zookeeper.errors import ConnectionLost, SessionExpired, StoreClosed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
    from kwire_cluster.node.metadata.metadata_cache import MetadataCache
    from kwire_cluster.node.session import NodeSession
    from kwire_cluster.zookeeper import Store

STALE_BROKER_EPOCH = 77
"""Kafka's error code for a request that was sent to an earlier registration of this broker."""

log = logger(__name__)


class MetadataUpdates:
    """Applies updates to the metadata cache, one at a time, in order of arrival.

    The order matters: an update that its sender has given up on must not overtake a later one.
    """

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._applying = asyncio.Lock()
        self.on_gap: Callable[[], None] = lambda: None
        """Called when the metadata could differ from the metadata of the controller."""
        self._session: NodeSession | None = None

    @property
    def session(self) -> NodeSession | None:
        """The current ZooKeeper session, or the last one."""
        return self._session

    def begin_session(self, session: NodeSession) -> None:
        """Follow the controller in a new session, beginning with a full update."""
        self._session = session
        self._metadata.begin_session()

    async def apply(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Apply an update unless it is stale, and return the response."""
        async with self._applying:
            assert self.session is not None, "a node listens only once it has had a session"
            return UpdateMetadataResponse(error_code=await self._apply(request, self.session))

    async def _apply(self, request: UpdateMetadataRequest, session: NodeSession) -> int:
        metadata = self._metadata
        if -1 < request.broker_epoch < session.broker_epoch or session.has_ended:
            return STALE_BROKER_EPOCH
        if session.broker_epoch < 0:  # the controller retries
            return ErrorCode.REQUEST_TIMED_OUT
        broker_id, epoch = request.controller_id, request.controller_epoch
        is_known = (broker_id, epoch) == (metadata.controller_id, metadata.controller_epoch)
        if metadata.is_stale(request) and session.store.state != SessionState.CONNECTED:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        try:
            if not is_known and not await is_current_controller(session.store, broker_id, epoch):
                log.warning(
                    "rejecting metadata from a broker that is not the controller", broker_id=broker_id, epoch=epoch
                )
                return ErrorCode.STALE_CONTROLLER_EPOCH
            if metadata.is_stale(request):
                log.warning("the controller epoch was lowered", known=metadata.controller_epoch, epoch=epoch)
                metadata.set_controller(broker_id, epoch)
            new_topics = metadata.new_topics(request)
            if new_topics:  # their creation wrote no notification, so nothing would correct what is read too early
                await catch_up(session.store, EntityConfig.path("topics", new_topics[0]))
                await session.configs.read(new_topics)
        except ConnectionLost:
            log.info("cannot apply metadata without a connection to ZooKeeper")
            return ErrorCode.REQUEST_TIMED_OUT
        except (SessionExpired, StoreClosed):  # and with the session, this registration
            return STALE_BROKER_EPOCH
        return self._update(request)

    def _update(self, request: UpdateMetadataRequest) -> int:
        """Apply an update unless another one is missing before it."""
        metadata, position = self._metadata, UpdatePosition.of(request)
        is_full = request.type == FULL_UPDATE
        if position is not None and not is_full and position.before != metadata.position:
            log.warning("rejecting metadata after a gap", known=metadata.position, expected=position.before)
            return GAP
        code = metadata.update(request)
        metadata.position = None if position is None else position.after
        if position is None:
            log.warning("metadata without a position", controller_id=request.controller_id)
            self.on_gap()
        elif (len(metadata.topics), metadata.partition_count) != (position.topics, position.partitions):
            log.warning(
                "the metadata are not complete",
                topics=len(metadata.topics),
                partitions=metadata.partition_count,
                expected_topics=position.topics,
                expected_partitions=position.partitions,
            )
            if not is_full:  # else the controller would send the same again
                return GAP
        return code


async def catch_up(store: Store, path: str) -> None:
    """Let the server of this session catch up with the server of the controller: it may lag behind.

    Raises:
        ConnectionLost: the session is suspended.
    """
    if store.state == SessionState.SUSPENDED:
        raise ConnectionLost(path)
    await store.sync(path)


async def is_current_controller(store: Store, broker_id: int, epoch: int) -> bool:
    """Return whether ZooKeeper names `broker_id` as the controller of `epoch`.

    Raises:
        ConnectionLost: the session is suspended.
    """
    await catch_up(store, ControllerEpoch.path())
    controller, controller_epoch = await store.get_many([ActiveController.path(), ControllerEpoch.path()])
    elected = decoded(ActiveController.path(), controller, ActiveController.decode)
    elected_epoch = decoded(ControllerEpoch.path(), controller_epoch, ControllerEpoch.decode)
    if elected is None or elected_epoch is None:
        return False
    return (elected.broker_id, elected_epoch.epoch) == (broker_id, epoch)
