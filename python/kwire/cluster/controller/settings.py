"""What of a broker's settings the controller follows, under Kafka's own names where it has them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ControllerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Numbers are counts where nothing else is said; times are in seconds."""

    num_partitions: int = 1
    """``num.partitions``: of topics that consumers ask for by name alone."""
    default_replication_factor: int = 1
    """``default.replication.factor``: of the same."""
    unclean_leader_election: bool = False
    """``unclean.leader.election.enable``: for topics that do not say."""
    batch_strict: bool = False
    """``admin.batch.strict``: the older rules for batches, 1011 and 1012 (decision D9)."""
    queue_size: int = 500
    """``controller.message.queue.size``: requests that may wait; one more is answered with 21."""
    retry_backoff: float = 0.1
    """Before metadata are sent again to a broker that did not take them; doubled up to ``retry_backoff_max``."""
    retry_backoff_max: float = 5.0
    send_timeout: float = 10.0
    """After which a broker that does not answer counts as one that did not take its metadata."""
    config_changes_kept: float = 900.0
    """For which notes of changed settings stay in ZooKeeper: Kafka keeps them for 15 minutes."""
