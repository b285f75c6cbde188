"""The settings of topics and their valid values (Kafka 3.9, `LogConfig`).

A value is a text, as in messages and in ZooKeeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cluster.config.setting import Level, Setting
from kwire_cluster.config.value_types import BOOLEAN, RATIO, integer, list_of, matching, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_COMPACTION_LAG = "min.compaction.lag.ms"
MAX_COMPACTION_LAG = "max.compaction.lag.ms"

_MAX_INT = (1 << 31) - 1
_MAX_LONG = (1 << 63) - 1

_REPLICAS = matching("* or a list of partition:broker pairs", r"\*|(\d+:\d+(,\s*\d+:\d+)*)?")
_TYPES = {
    "cleanup.policy": list_of("compact", "delete"),
    "compression.gzip.level": matching("-1 or an integer from 1 to 9", r"-1|[1-9]"),
    "compression.lz4.level": integer(1, 17),
    "compression.type": one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.zstd.level": integer(-131072, 22),
    "delete.retention.ms": integer(0, _MAX_LONG),
    "file.delete.delay.ms": integer(0, _MAX_LONG),
    "flush.messages": integer(1, _MAX_LONG),
    "flush.ms": integer(0, _MAX_LONG),
    "follower.replication.throttled.replicas": _REPLICAS,
    "index.interval.bytes": integer(0, _MAX_INT),
    "leader.replication.throttled.replicas": _REPLICAS,
    "local.retention.bytes": integer(-2, _MAX_LONG),
    "local.retention.ms": integer(-2, _MAX_LONG),
    MAX_COMPACTION_LAG: integer(1, _MAX_LONG),
    "max.message.bytes": integer(0, _MAX_INT),
    "message.downconversion.enable": BOOLEAN,
    "message.format.version": matching("a Kafka release", r"(0\.\d+\.\d+|[1-9]\d*\.\d+)(\.\d+|-IV\d+)*"),
    "message.timestamp.after.max.ms": integer(0, _MAX_LONG),
    "message.timestamp.before.max.ms": integer(0, _MAX_LONG),
    "message.timestamp.difference.max.ms": integer(0, _MAX_LONG),
    "message.timestamp.type": one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": RATIO,
    MIN_COMPACTION_LAG: integer(0, _MAX_LONG),
    "min.insync.replicas": integer(1, _MAX_INT),
    "preallocate": BOOLEAN,
    "remote.storage.enable": BOOLEAN,
    "retention.bytes": integer(-_MAX_LONG - 1, _MAX_LONG),
    "retention.ms": integer(-1, _MAX_LONG),
    "segment.bytes": integer(14, _MAX_INT),
    "segment.index.bytes": integer(4, _MAX_INT),
    "segment.jitter.ms": integer(0, _MAX_LONG),
    "segment.ms": integer(1, _MAX_LONG),
    "unclean.leader.election.enable": BOOLEAN,
}

TOPIC_SETTINGS: Mapping[str, Setting] = {
    name: Setting(name, type, level=Level.TOPIC, is_live=True) for name, type in _TYPES.items()
}
"""The settings of topics. Their meaning is Kafka's; nodes keep them and hold no records."""
