"""The settings that a topic may override, and the values that each may have (Kafka 3.9, ``LogConfig``).

Rules of this file: one line a setting; a value is a string, as it travels and as it is stored; blanks around it count
for nothing, as in Kafka's ``ConfigDef``. What is set must fit into the messages that tell of it. What is wrong is a
``AdminError`` 1006 that names key and value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import LONGEST_STRING, can_be_a_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["TOPIC_CONFIGS", "TopicConfig", "check_configs", "check_together"]

_INT = (1 << 31) - 1
_LONG = (1 << 63) - 1
_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
# What Java's Double.parseDouble reads, without its hexadecimal form.
_DOUBLE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)
_THROTTLED = re.compile(r"\*|(\d+:\d+(,\s*\d+:\d+)*)?", re.ASCII)
_RELEASE = re.compile(r"(0\.\d+\.\d+|[1-9]\d*\.\d+)(\.\d+|-IV\d+)*", re.ASCII)


class TopicConfig(NamedTuple):
    """One setting. ``wanted``: the values it can have, in words; ``accepts``: whether a trimmed value is one."""

    wanted: str
    accepts: Callable[[str], bool]


def _whole(least: int, most: int) -> TopicConfig:
    return TopicConfig(
        f"a whole number from {least} to {most}",
        lambda value: _WHOLE.fullmatch(value) is not None and least <= int(value) <= most,
    )


def _word(*words: str) -> TopicConfig:
    return TopicConfig("one of " + ", ".join(words), lambda value: value in words)


def _words(*words: str) -> TopicConfig:
    return TopicConfig(
        "a list of " + ", ".join(words), lambda value: all(one.strip() in words for one in value.split(","))
    )


def _ratio(value: str) -> bool:
    return _DOUBLE.fullmatch(value) is not None and 0 <= float(value.rstrip("dDfF")) <= 1


_BOOLEAN = TopicConfig("true or false", lambda value: value.lower() in {"true", "false"})
_REPLICAS = TopicConfig("* or partition:broker pairs with commas between them", lambda v: bool(_THROTTLED.fullmatch(v)))

TOPIC_CONFIGS: Mapping[str, TopicConfig] = {
    "cleanup.policy": _words("compact", "delete"),
    "compression.gzip.level": TopicConfig(
        "-1 or a whole number from 1 to 9", lambda value: value in {"-1", *map(str, range(1, 10))}
    ),
    "compression.lz4.level": _whole(1, 17),
    "compression.type": _word("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.zstd.level": _whole(-131072, 22),
    "delete.retention.ms": _whole(0, _LONG),
    "file.delete.delay.ms": _whole(0, _LONG),
    "flush.messages": _whole(1, _LONG),
    "flush.ms": _whole(0, _LONG),
    "follower.replication.throttled.replicas": _REPLICAS,
    "index.interval.bytes": _whole(0, _INT),
    "leader.replication.throttled.replicas": _REPLICAS,
    "local.retention.bytes": _whole(-2, _LONG),
    "local.retention.ms": _whole(-2, _LONG),
    "max.compaction.lag.ms": _whole(1, _LONG),
    "max.message.bytes": _whole(0, _INT),
    "message.downconversion.enable": _BOOLEAN,
    "message.format.version": TopicConfig("a release of Kafka", lambda value: bool(_RELEASE.fullmatch(value))),
    "message.timestamp.after.max.ms": _whole(0, _LONG),
    "message.timestamp.before.max.ms": _whole(0, _LONG),
    "message.timestamp.difference.max.ms": _whole(0, _LONG),
    "message.timestamp.type": _word("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": TopicConfig("a number from 0 to 1", _ratio),
    "min.compaction.lag.ms": _whole(0, _LONG),
    "min.insync.replicas": _whole(1, _INT),
    "preallocate": _BOOLEAN,
    "remote.storage.enable": _BOOLEAN,
    "retention.bytes": _whole(-_LONG - 1, _LONG),
    "retention.ms": _whole(-1, _LONG),
    "segment.bytes": _whole(14, _INT),
    "segment.index.bytes": _whole(4, _INT),
    "segment.jitter.ms": _whole(0, _LONG),
    "segment.ms": _whole(1, _LONG),
    "unclean.leader.election.enable": _BOOLEAN,
}


def check_configs(configs: Mapping[str, str]) -> None:
    """For all that a topic is to override. Errors: AdminError 1006."""
    for key, value in configs.items():
        config = TOPIC_CONFIGS.get(key)
        if config is None:
            raise _refusal(f"{key[:100]!r} is no setting of a topic")
        if not config.accepts(value.strip()):
            raise _refusal(f"{key} cannot be {value[:100]!r}: {config.wanted} is wanted")
        if not can_be_a_setting(key, value):
            raise _refusal(f"{key} is too long: with key and = it has more than {LONGEST_STRING:,} bytes")
    check_together(configs)


def check_together(configs: Mapping[str, str]) -> None:
    """For all that a topic overrides, each of which is good by itself. Errors: AdminError 1006."""
    least, most = configs.get("min.compaction.lag.ms"), configs.get("max.compaction.lag.ms")
    if least is not None and most is not None and int(least) > int(most):
        raise _refusal(f"min.compaction.lag.ms ({least}) is above max.compaction.lag.ms ({most})")


def _refusal(reason: str) -> AdminError:
    return AdminError(ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG, reason)
