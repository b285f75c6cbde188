"""The settings of the controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.cluster.controller.feature_rules import SupportedFeature

__all__ = ["ControllerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Settings of the controller, under Kafka's names where Kafka has them. Times are in seconds."""

    num_partitions: int = 1
    """`num.partitions`: partitions of topics that consumers create by name only."""
    default_replication_factor: int = 1
    """`default.replication.factor`: replication factor of topics that consumers create by name only."""
    unclean_leader_election: bool = False
    """`unclean.leader.election.enable`: the default for topics without this config."""
    batch_strict: bool = False
    """`admin.batch.strict`: the older rules for batches, with errors 1011 and 1012 (decision D9)."""
    queue_size: int = 500
    """`controller.message.queue.size`: maximum number of waiting requests. Further requests get error 21."""
    retry_backoff: float = 0.1
    """Pause before a failed step is repeated, such as sending metadata to a broker or reading a znode; doubled up to
    `retry_backoff_max`."""
    retry_backoff_max: float = 5.0
    """Maximum pause between two attempts."""
    send_timeout: float = 10.0
    """Maximum time to wait for a broker's response to UpdateMetadata."""
    features_enabled: bool = True
    """Whether features are versioned: `inter.broker.protocol.version` is at least `migration.ibp.version`."""
    supported_features: Mapping[str, SupportedFeature] = field(default_factory=dict)
    """`supported.features`: the features that this broker supports."""
    config_change_retention: float = 900.0
    """Time that config change notifications stay in ZooKeeper. Kafka keeps them for 15 minutes."""
