"""Kafka's own scripts on top of kwire: their options, their output, their exit codes.

`kafka compat install DIR` writes them as programs. From Python, each is a function with the arguments of its script:

    from kwire import compat

    code = compat.kafka_topics("--bootstrap-server", "localhost:9092", "--list")

| module | contents |
|---|---|
| `registry` | the scripts by name and by the names of Kafka's classes |
| `scripts` | one module for each script |
| `script`, `options` | a run; the declaration, parser, and help of options |
| `install` | the scripts as files |

With `--bootstrap-server`, output and errors equal Kafka 3.9.1's. With `--zookeeper`, the tools of `kwire.operations`
take over, with the output of Kafka 0.8.2 or 0.10.2; `consumer-groups` then acts on groups in ZooKeeper.
"""

from __future__ import annotations

from kwire.compat.install import install
from kwire.compat.registry import SCRIPTS, run_script

__all__ = [
    "SCRIPTS",
    "install",
    "kafka_acls",
    "kafka_configs",
    "kafka_consumer_groups",
    "kafka_features",
    "kafka_get_offsets",
    "kafka_leader_election",
    "kafka_log_dirs",
    "kafka_metadata_quorum",
    "kafka_preferred_replica_election",
    "kafka_reassign_partitions",
    "kafka_run_class",
    "kafka_topics",
    "run_script",
]


def kafka_acls(*arguments: str) -> int:
    """Run `kafka-acls`, and return its exit code."""
    return run_script("kafka-acls", arguments)


def kafka_configs(*arguments: str) -> int:
    """Run `kafka-configs`, and return its exit code."""
    return run_script("kafka-configs", arguments)


def kafka_consumer_groups(*arguments: str) -> int:
    """Run `kafka-consumer-groups`, and return its exit code."""
    return run_script("kafka-consumer-groups", arguments)


def kafka_features(*arguments: str) -> int:
    """Run `kafka-features`, and return its exit code."""
    return run_script("kafka-features", arguments)


def kafka_get_offsets(*arguments: str) -> int:
    """Run `kafka-get-offsets`, and return its exit code."""
    return run_script("kafka-get-offsets", arguments)


def kafka_leader_election(*arguments: str) -> int:
    """Run `kafka-leader-election`, and return its exit code."""
    return run_script("kafka-leader-election", arguments)


def kafka_log_dirs(*arguments: str) -> int:
    """Run `kafka-log-dirs`, and return its exit code."""
    return run_script("kafka-log-dirs", arguments)


def kafka_metadata_quorum(*arguments: str) -> int:
    """Run `kafka-metadata-quorum`, and return its exit code."""
    return run_script("kafka-metadata-quorum", arguments)


def kafka_preferred_replica_election(*arguments: str) -> int:
    """Run `kafka-preferred-replica-election`, and return its exit code."""
    return run_script("kafka-preferred-replica-election", arguments)


def kafka_reassign_partitions(*arguments: str) -> int:
    """Run `kafka-reassign-partitions`, and return its exit code."""
    return run_script("kafka-reassign-partitions", arguments)


def kafka_run_class(*arguments: str) -> int:
    """Run `kafka-run-class`, and return its exit code."""
    return run_script("kafka-run-class", arguments)


def kafka_topics(*arguments: str) -> int:
    """Run `kafka-topics`, and return its exit code."""
    return run_script("kafka-topics", arguments)
