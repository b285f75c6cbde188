"""Checks of the topic configs that clients send. A config must fit into the messages that describe the topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import MAX_STRING_LENGTH, is_encodable_config
from kwire_cluster.config.setting import SettingError
from kwire_cluster.config.topic_settings import MAX_COMPACTION_LAG, MIN_COMPACTION_LAG, TOPIC_SETTINGS
from kwire_cluster.controller.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cluster.config.setting import Setting

__all__ = ["check_compaction_lag", "check_configs", "check_deleted_configs"]


def check_configs(configs: Mapping[str, str]) -> None:
    """Raise CommandError 1006 unless all keys and values are valid."""
    for key, value in configs.items():
        setting = TOPIC_SETTINGS.get(key)
        if setting is None:
            raise _error(f"unknown topic config {key[:100]!r}")
        _check_value(key, value, setting)
        if not is_encodable_config(key, value):
            raise _error(f"{key} is too long: key, '=', and value have more than {MAX_STRING_LENGTH:,} bytes")
    check_compaction_lag(configs)


def check_deleted_configs(keys: Iterable[str], current: Mapping[str, str]) -> None:
    """Raise CommandError 1006 for a key that no topic can have. A key that a topic has can always be deleted."""
    for key in keys:
        if key not in TOPIC_SETTINGS and key not in current:
            raise _error(f"unknown topic config {key[:100]!r}")


def check_compaction_lag(configs: Mapping[str, str]) -> None:
    """Raise CommandError 1006 if the minimum compaction lag exceeds the maximum."""
    if MIN_COMPACTION_LAG not in configs or MAX_COMPACTION_LAG not in configs:
        return
    for key in (MIN_COMPACTION_LAG, MAX_COMPACTION_LAG):  # another client may have written an invalid value
        _check_value(key, configs[key], TOPIC_SETTINGS[key])
    minimum, maximum = configs[MIN_COMPACTION_LAG], configs[MAX_COMPACTION_LAG]
    if int(minimum) > int(maximum):
        raise _error(f"{MIN_COMPACTION_LAG} ({minimum}) exceeds {MAX_COMPACTION_LAG} ({maximum})")


def _check_value(key: str, value: str, setting: Setting) -> None:
    try:
        setting.parse(value)
    except SettingError as error:
        raise _error(f"invalid value {value[:100]!r} for {key}: {error.reason}") from None


def _error(reason: str) -> CommandError:
    return CommandError(ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG, reason)
