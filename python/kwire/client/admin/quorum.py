"""The KRaft quorum and the features of a cluster (KIP-595, KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin.answer import error_code
from kwire.client.admin.cluster_router import ANY, CONTROLLER
from kwire.messages.kafka.api_versions import ApiVersionsRequest
from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from kwire.messages.kafka.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kwire.protocol.client_connection import SOFTWARE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.values import Outcomes
    from kwire.messages.kafka.describe_quorum import ReplicaState

METADATA_TOPIC = "__cluster_metadata"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""Types of an update of a feature (KIP-584, version 1)."""


class QuorumReplica(NamedTuple):
    """A replica of the metadata log.

    Attributes:
        id: the id of the controller or broker.
        directory_id: the id of its directory (KIP-853); None if it is not reported.
        log_end_offset: the end of its log.
        last_caught_up_ms: when it had the whole log last, in milliseconds since 1970; None if it is not known.
    """

    id: int
    directory_id: UUID | None
    log_end_offset: int
    last_caught_up_ms: int | None


class QuorumDescription(NamedTuple):
    """The KRaft quorum.

    Attributes:
        leader: the id of the active controller.
        leader_epoch: its epoch.
        high_watermark: the offset up to which the log is committed.
        voters: the controllers.
        observers: the brokers.
    """

    leader: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


class FeatureDescription(NamedTuple):
    """A feature of a cluster.

    Attributes:
        name: such as `metadata.version`.
        supported: the lowest and highest level that the broker supports; None if it does not know the feature.
        finalized: the level of the cluster; None if it has none.
    """

    name: str
    supported: tuple[int, int] | None
    finalized: int | None


class QuorumOperations:
    """Operations on the quorum and on features."""

    _router: ClusterRouter

    async def describe_quorum(self) -> QuorumDescription:
        """Return the state of the KRaft quorum.

        Raises:
            NoCommonVersion: the cluster has ZooKeeper instead.
            AdminError: a broker refused the request.
        """
        topic = TopicData(topic_name=METADATA_TOPIC, partitions=(PartitionData(partition_index=0),))
        answer = await self._router.read(DescribeQuorumRequest(topics=(topic,)), ANY, error_code)
        [partition] = answer.accepted("the quorum").topics[0].partitions
        error = answer.error(partition, "the quorum")
        if error is not None:
            raise error
        return QuorumDescription(
            partition.leader_id,
            partition.leader_epoch,
            partition.high_watermark,
            tuple(map(_replica, partition.current_voters)),
            tuple(map(_replica, partition.observers)),
        )

    async def describe_features(self) -> list[FeatureDescription]:
        """Return the features of the cluster, sorted by name, as one broker reports them."""
        response = (await self._router.read(_api_versions(), ANY, error_code)).response
        supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
        finalized = {each.name: each.max_version_level for each in response.finalized_features}
        return [
            FeatureDescription(name, supported.get(name), finalized.get(name))
            for name in sorted({*supported, *finalized})
        ]

    async def update_features(
        self, levels: Mapping[str, int], *, downgrade: bool = False, unsafe: bool = False, validate_only: bool = False
    ) -> Outcomes:
        """Set the levels of features: all of them or none. The command is not repeated after a lost response.

        Errors: 42 the level is invalid; 95 a broker does not support it.

        Args:
            levels: the new level by feature; 0 disables it.
            downgrade: allow lower levels than now if no metadata is lost.
            unsafe: allow lower levels even if metadata is lost.
            validate_only: check the request and change nothing.
        """
        kind = UNSAFE_DOWNGRADE if unsafe else SAFE_DOWNGRADE if downgrade else UPGRADE
        request = UpdateFeaturesRequest(
            timeout_ms=int(self._router.timeout * 1000),
            feature_updates=tuple(
                FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
                for name, level in levels.items()
            ),
            validate_only=validate_only,
        )
        answer = await self._router.command(request, CONTROLLER, error_code, repeatable=validate_only)
        failed = {each.feature: each for each in answer.response.results if each.error_code}
        return answer.outcomes((name, failed.get(name, answer.response)) for name in levels)


def _api_versions() -> ApiVersionsRequest:
    """Return a request for the features as they are now; those of the connection are as old as the connection."""
    from kwire import __version__

    return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)


def _replica(replica: ReplicaState) -> QuorumReplica:
    directory, caught_up = replica.replica_directory_id, replica.last_caught_up_timestamp
    return QuorumReplica(
        replica.replica_id,
        directory if directory.int else None,
        replica.log_end_offset,
        None if caught_up < 0 else caught_up,
    )
