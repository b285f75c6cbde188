"""Messages of Apache Kafka as shipped (dialect ``kafka``), declared from what 3.9 and 4.4 carry; one file an API."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    from kwire.messages import resolve

    return resolve(__name__, name)
