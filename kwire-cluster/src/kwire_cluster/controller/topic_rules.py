"""Rules for topics: configs that clients send, and the number of partitions. `topic_names` has those for names.

- A config must fit into the messages that describe the topic.
- Every partition takes two znodes, and ZooKeeper keeps all znodes in memory, so requests without a limit could exhaust
  it. Kafka's `ReplicationControlManager` limits a request to 10,000 partitions as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import MAX_STRING_LENGTH, is_encodable_config
from kwire_cluster.config.setting import SettingError
from kwire_cluster.config.topic_settings import MAX_COMPACTION_LAG, MIN_COMPACTION_LAG, TOPIC_SETTINGS
from kwire_cluster.controller.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.config.setting import Setting
    from kwire_cluster.controller.cluster_state import Cluster


def check_configs(configs: Mapping[str, str]) -> None:
    """Raise CommandError 1006 unless all keys and values are valid."""
    for key, value in configs.items():
        setting = TOPIC_SETTINGS.get(key)
        if setting is None:
            raise _config_error(f"unknown topic config {key[:100]!r}")
        _check_value(key, value, setting)
        if not is_encodable_config(key, value):
            raise _config_error(f"{key} is too long: key, '=', and value have more than {MAX_STRING_LENGTH:,} bytes")
    check_compaction_lag(configs)


def check_deleted_configs(keys: Iterable[str], current: Mapping[str, str]) -> None:
    """Raise CommandError 1006 for a key that no topic can have. A key that a topic has can always be deleted."""
    for key in keys:
        if key not in TOPIC_SETTINGS and key not in current:
            raise _config_error(f"unknown topic config {key[:100]!r}")


def check_compaction_lag(configs: Mapping[str, str]) -> None:
    """Raise CommandError 1006 if the minimum compaction lag exceeds the maximum."""
    if MIN_COMPACTION_LAG not in configs or MAX_COMPACTION_LAG not in configs:
        return
    for key in (MIN_COMPACTION_LAG, MAX_COMPACTION_LAG):  # another client may have written an invalid value
        _check_value(key, configs[key], TOPIC_SETTINGS[key])
    minimum, maximum = configs[MIN_COMPACTION_LAG], configs[MAX_COMPACTION_LAG]
    if int(minimum) > int(maximum):
        raise _config_error(f"{MIN_COMPACTION_LAG} ({minimum}) exceeds {MAX_COMPACTION_LAG} ({maximum})")


def _check_value(key: str, value: str, setting: Setting) -> None:
    try:
        setting.parse(value)
    except SettingError as error:
        raise _config_error(f"invalid value {value[:100]!r} for {key}: {error.reason}") from None


def _config_error(reason: str) -> CommandError:
    return CommandError(ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG, reason)


MAX_PARTITIONS = 50_000
"""Partitions of one topic: with three replicas each, its registration just fits into a ZooKeeper packet."""


def check_partition_count(partitions: int) -> None:
    """Raise CommandError 1002 for a number of partitions that a topic cannot have."""
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise _count_error(
            f"invalid number of partitions {partitions:,}: a topic has 1 to {MAX_PARTITIONS:,} partitions"
        )


class PartitionBudget:
    """The partitions that one request may still create. Topics that are rejected use up nothing.

    Args:
        settings: the limits, `admin.request.max.partitions` and `admin.cluster.max.partitions`.
    """

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._created = 0

    def check(self, partitions: int, cluster: Cluster) -> None:
        """Raise CommandError 1002 if this number of further partitions exceeds a limit."""
        created = self._created + partitions
        if created > (limit := self._settings.max_request_partitions):
            raise _count_error(
                f"the request creates {created:,} partitions: at most {limit:,} are allowed in one request"
            )
        total = cluster.topics.partition_count + partitions
        if total > (limit := self._settings.max_partitions):
            raise _count_error(
                f"the cluster would have {total:,} partitions: at most {limit:,} are allowed, so delete topics first"
            )

    def take(self, partitions: int) -> None:
        """Count partitions that the request creates."""
        self._created += partitions


def _count_error(reason: str) -> CommandError:
    return CommandError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, reason)
