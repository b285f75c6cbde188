"""Topic configs and their valid values (Kafka 3.9, `LogConfig`).

A value is a string, as in messages and in ZooKeeper. Surrounding blanks are ignored, as in Kafka's `ConfigDef`. A
config must fit into the messages that describe the topic.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import MAX_STRING_LENGTH, is_encodable_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["TOPIC_CONFIGS", "TopicConfig", "check_compaction_lag", "check_configs"]

MIN_COMPACTION_LAG = "min.compaction.lag.ms"
MAX_COMPACTION_LAG = "max.compaction.lag.ms"

_MAX_INT = (1 << 31) - 1
_MAX_LONG = (1 << 63) - 1
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
# The syntax of Java's Double.parseDouble, without hexadecimal numbers.
_DOUBLE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)
_THROTTLED_REPLICAS = re.compile(r"\*|(\d+:\d+(,\s*\d+:\d+)*)?", re.ASCII)
_RELEASE = re.compile(r"(0\.\d+\.\d+|[1-9]\d*\.\d+)(\.\d+|-IV\d+)*", re.ASCII)


class TopicConfig(NamedTuple):
    """A topic config.

    Attributes:
        expected: describes the valid values.
        accepts: returns whether a value without surrounding blanks is valid.
    """

    expected: str
    accepts: Callable[[str], bool]


def _integer(minimum: int, maximum: int) -> TopicConfig:
    return TopicConfig(
        f"an integer from {minimum} to {maximum}",
        lambda value: _INTEGER.fullmatch(value) is not None and minimum <= int(value) <= maximum,
    )


def _one_of(*values: str) -> TopicConfig:
    return TopicConfig("one of " + ", ".join(values), lambda value: value in values)


def _list_of(*values: str) -> TopicConfig:
    return TopicConfig(
        "a list of " + ", ".join(values), lambda value: all(one.strip() in values for one in value.split(","))
    )


def _ratio(value: str) -> bool:
    return _DOUBLE.fullmatch(value) is not None and 0 <= float(value.rstrip("dDfF")) <= 1


_BOOLEAN = TopicConfig("true or false", lambda value: value.lower() in {"true", "false"})
_REPLICAS = TopicConfig(
    "* or a list of partition:broker pairs", lambda value: bool(_THROTTLED_REPLICAS.fullmatch(value))
)

TOPIC_CONFIGS: Mapping[str, TopicConfig] = {
    "cleanup.policy": _list_of("compact", "delete"),
    "compression.gzip.level": TopicConfig(
        "-1 or an integer from 1 to 9", lambda value: value in {"-1", *map(str, range(1, 10))}
    ),
    "compression.lz4.level": _integer(1, 17),
    "compression.type": _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.zstd.level": _integer(-131072, 22),
    "delete.retention.ms": _integer(0, _MAX_LONG),
    "file.delete.delay.ms": _integer(0, _MAX_LONG),
    "flush.messages": _integer(1, _MAX_LONG),
    "flush.ms": _integer(0, _MAX_LONG),
    "follower.replication.throttled.replicas": _REPLICAS,
    "index.interval.bytes": _integer(0, _MAX_INT),
    "leader.replication.throttled.replicas": _REPLICAS,
    "local.retention.bytes": _integer(-2, _MAX_LONG),
    "local.retention.ms": _integer(-2, _MAX_LONG),
    MAX_COMPACTION_LAG: _integer(1, _MAX_LONG),
    "max.message.bytes": _integer(0, _MAX_INT),
    "message.downconversion.enable": _BOOLEAN,
    "message.format.version": TopicConfig("a Kafka release", lambda value: bool(_RELEASE.fullmatch(value))),
    "message.timestamp.after.max.ms": _integer(0, _MAX_LONG),
    "message.timestamp.before.max.ms": _integer(0, _MAX_LONG),
    "message.timestamp.difference.max.ms": _integer(0, _MAX_LONG),
    "message.timestamp.type": _one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": TopicConfig("a number from 0 to 1", _ratio),
    MIN_COMPACTION_LAG: _integer(0, _MAX_LONG),
    "min.insync.replicas": _integer(1, _MAX_INT),
    "preallocate": _BOOLEAN,
    "remote.storage.enable": _BOOLEAN,
    "retention.bytes": _integer(-_MAX_LONG - 1, _MAX_LONG),
    "retention.ms": _integer(-1, _MAX_LONG),
    "segment.bytes": _integer(14, _MAX_INT),
    "segment.index.bytes": _integer(4, _MAX_INT),
    "segment.jitter.ms": _integer(0, _MAX_LONG),
    "segment.ms": _integer(1, _MAX_LONG),
    "unclean.leader.election.enable": _BOOLEAN,
}


def check_configs(configs: Mapping[str, str]) -> None:
    """Raise AdminError 1006 unless all keys and values are valid."""
    for key, value in configs.items():
        config = TOPIC_CONFIGS.get(key)
        if config is None:
            raise _error(f"unknown topic config {key[:100]!r}")
        _check_value(key, value, config)
        if not is_encodable_config(key, value):
            raise _error(f"{key} is too long: key, '=', and value have more than {MAX_STRING_LENGTH:,} bytes")
    check_compaction_lag(configs)


def check_compaction_lag(configs: Mapping[str, str]) -> None:
    """Raise AdminError 1006 if the minimum compaction lag exceeds the maximum."""
    if MIN_COMPACTION_LAG not in configs or MAX_COMPACTION_LAG not in configs:
        return
    for key in (MIN_COMPACTION_LAG, MAX_COMPACTION_LAG):  # another client may have written an invalid value
        _check_value(key, configs[key], TOPIC_CONFIGS[key])
    minimum, maximum = configs[MIN_COMPACTION_LAG], configs[MAX_COMPACTION_LAG]
    if int(minimum) > int(maximum):
        raise _error(f"{MIN_COMPACTION_LAG} ({minimum}) exceeds {MAX_COMPACTION_LAG} ({maximum})")


def _check_value(key: str, value: str, config: TopicConfig) -> None:
    if not config.accepts(value.strip()):
        raise _error(f"invalid value {value[:100]!r} for {key}: expected {config.expected}")


def _error(reason: str) -> AdminError:
    return AdminError(ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG, reason)
