"""Data of Kafka Streams in JoinGroup and SyncGroup (StreamsPartitionAssignor)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    from kwire.messages import resolve

    return resolve(__name__, name)


def __dir__() -> list[str]:
    from kwire.messages import names

    return sorted({*globals(), *names(__name__)})
