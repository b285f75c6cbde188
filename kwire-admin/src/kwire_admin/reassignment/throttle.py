"""Replication quotas of a reassignment (KIP-73), and the values to restore.

A broker has one rate for data that it sends and one for data that it receives. A topic lists the throttled replicas as
`partition:broker`, or `*` for all of them. Brokers throttle only replicas that are not in sync.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin.config_plans import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_admin.reassignment.plan import Move

__all__ = ["EVERY_REPLICA", "RATES", "REPLICAS", "ThrottledReplicas", "throttled_brokers", "throttled_replicas"]

REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Configs of a topic: throttled replicas on the sending and the receiving side."""
EVERY_REPLICA = "*"


class ThrottledReplicas(NamedTuple):
    """The values of REPLICAS for a topic."""

    leaders: str
    followers: str

    def combined(self, previous: Mapping[str, str | None]) -> dict[str, str]:
        """Return the values to set, which include the previous values."""
        return {name: _union(previous.get(name), value) for name, value in zip(REPLICAS, self, strict=True) if value}


def throttled_replicas(moves: Iterable[Move]) -> dict[str, ThrottledReplicas]:
    """Return by topic the replicas to throttle: all old replicas may send, and the added replicas receive."""
    senders: dict[str, list[str]] = defaultdict(list)
    receivers: dict[str, list[str]] = defaultdict(list)
    for move in moves:
        if move.added:
            senders[move.key.topic] += (f"{move.key.partition}:{broker}" for broker in move.before)
            receivers[move.key.topic] += (f"{move.key.partition}:{broker}" for broker in move.added)
    return {topic: ThrottledReplicas(",".join(senders[topic]), ",".join(receivers[topic])) for topic in senders}


def throttled_brokers(moves: Iterable[Move]) -> list[int]:
    """Return the brokers that send or receive data, in ascending order."""
    return sorted({broker for move in moves if move.added for broker in (*move.before, *move.added)})


def _union(previous: str | None, value: str) -> str:
    if not previous:
        return value
    if previous == EVERY_REPLICA:
        return previous
    return ",".join(dict.fromkeys((*previous.split(","), *value.split(","))))
