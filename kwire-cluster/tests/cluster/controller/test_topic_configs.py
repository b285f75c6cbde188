"""Tests of topic configs, against the validators of Kafka 3.9."""

from __future__ import annotations

import pytest

from kwire_cluster.config.topic_settings import TOPIC_SETTINGS
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.topic_rules import check_compaction_lag, check_configs
from tests.for_rows import for_rows

GOOD = {
    "cleanup.policy": ["compact", "delete", "compact,delete", "delete, compact"],
    "compression.gzip.level": ["-1", "1", "9"],
    "compression.lz4.level": ["1", "17"],
    "compression.type": ["zstd", "producer", "uncompressed"],
    "compression.zstd.level": ["-5", "22"],
    "max.message.bytes": ["0", " 1000 ", "+7"],
    "message.format.version": ["0.10.1", "0.8.2.1", "2.8", "3.0-IV1"],
    "message.timestamp.type": ["CreateTime", "LogAppendTime"],
    "min.cleanable.dirty.ratio": ["0", "1", "0.5", ".5", "1e-3"],
    "min.insync.replicas": ["1", "2147483647"],
    "preallocate": ["true", "FALSE"],
    "leader.replication.throttled.replicas": ["*", "", "0:1", "0:1,1:2"],
    "retention.ms": ["-1", "9223372036854775807"],
    "retention.bytes": ["-1", "-9223372036854775808"],
    "segment.bytes": ["14"],
    "segment.index.bytes": ["4"],
    "segment.ms": ["1"],
    "local.retention.ms": ["-2"],
}
BAD = {
    "cleanup.policy": ["", "Compact", "compact;delete", "compact,"],
    "compression.gzip.level": ["0", "10"],
    "compression.lz4.level": ["0", "18"],
    "compression.type": ["none", "ZSTD"],
    "delete.retention.ms": ["-1"],
    "flush.messages": ["0"],
    "max.compaction.lag.ms": ["0"],
    "max.message.bytes": ["-1", "2147483648", "1.5", "", "x", "1_000", "\u0661"],
    "message.format.version": ["", "latest", "8"],
    "message.timestamp.type": ["createtime"],
    "min.cleanable.dirty.ratio": ["-0.1", "1.01", "nan", "", "half"],
    "min.insync.replicas": ["0"],
    "preallocate": ["yes", "1", ""],
    "leader.replication.throttled.replicas": ["1", "0:1,", "a:b", "*,0:1"],
    "retention.ms": ["-2", "9223372036854775808"],
    "segment.bytes": ["13"],
    "segment.index.bytes": ["3"],
    "segment.ms": ["0"],
    "local.retention.ms": ["-3"],
    "no.such.setting": ["1"],
    "": ["1"],
    "remote.log.copy.disable": ["true"],
}


@for_rows(("key", "value"), [(key, value) for key in GOOD for value in GOOD[key]])
def test_valid_value_is_accepted(key: str, value: str) -> None:
    check_configs({key: value})


@for_rows(("key", "value"), [(key, value) for key in BAD for value in BAD[key]])
def test_invalid_value_is_rejected(key: str, value: str) -> None:
    with pytest.raises(CommandError) as rejected:
        check_configs({key: value})
    assert rejected.value.code == 1006


def test_minimum_compaction_lag_must_not_exceed_the_maximum() -> None:
    check_configs({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"})
    with pytest.raises(CommandError, match="exceeds"):
        check_configs({"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"})


def test_check_compaction_lag_rejects_invalid_value_written_by_another_client() -> None:
    with pytest.raises(CommandError, match="invalid value 'x' for min") as rejected:
        check_compaction_lag({"min.compaction.lag.ms": "x", "max.compaction.lag.ms": "5"})
    assert rejected.value.code == 1006


def test_config_must_fit_into_a_string_of_the_oldest_drafts() -> None:
    key = "follower.replication.throttled.replicas"
    longest = 32_767 - len(f"{key}=")
    check_configs({key: "0:1," * (longest // 4 - 1) + "0:1" + " " * (longest % 4 + 1)})
    with pytest.raises(CommandError, match="too long") as rejected:
        check_configs({key: "0:1," * (longest // 4) + "10:1"})
    assert rejected.value.code == 1006


def test_configs_of_the_oldest_release_are_known() -> None:
    oldest = """cleanup.policy delete.retention.ms file.delete.delay.ms flush.messages flush.ms index.interval.bytes
    max.message.bytes min.cleanable.dirty.ratio min.insync.replicas retention.bytes retention.ms segment.bytes
    segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable"""
    assert set(oldest.split()) <= TOPIC_SETTINGS.keys()
