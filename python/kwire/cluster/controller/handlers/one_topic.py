"""What the messages about one topic, versions 0 and 1, have in common.

Rules of this file: these versions know 0, 21 and 22 only: whatever else went wrong is 21, and the description says
what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["as_replicas", "code_and_reason", "config_entries", "config_texts"]


def code_and_reason(error: AdminError | None) -> tuple[int, str | None]:
    """ErrorCode and ErrorDescription."""
    if error is None:
        return ErrorCode.NO_ERROR, None
    if error.code == ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST:
        return error.code, error.reason
    return ErrorCode.ADMIN_REQUEST_FAILED, error.reason


def config_entries(texts: Iterable[str]) -> tuple[ConfigEntry, ...]:
    """Settings that came as ``key=value``. Errors: AdminError 1006."""
    entries = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise AdminError(ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG, f"{text[:100]!r} has not the form key=value")
        entries.append(ConfigEntry(config_key=key.strip(), config_value=value.strip()))
    return tuple(entries)


def config_texts(config: Mapping[str, str]) -> tuple[str, ...]:
    """Settings as ``key=value``."""
    return tuple(f"{key}={value}" for key, value in sorted(config.items()))


def as_replicas(assigned: Mapping[int, Sequence[int]]) -> tuple[PartitionReplicas, ...]:
    """An assignment as version 2 has it."""
    return tuple(PartitionReplicas(partition_id=index, replica_ids=tuple(ids)) for index, ids in assigned.items())
