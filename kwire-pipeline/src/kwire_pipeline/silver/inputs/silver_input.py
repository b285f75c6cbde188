"""The declaration of an input of silver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_pipeline.tables import Table

    AddRow = Callable[..., None]
    """Adds a row: the name of the table, the time in microseconds since 1970, and the values after `broker_id`."""


class InputState(Protocol):
    """The reports of one broker in the responses of an input."""

    def apply(self, at: int, message: Any) -> None:
        """Apply a response, and add rows for what it changes.

        Args:
            at: the time of the poll in microseconds since 1970.
            message: a response with one of the input's API keys.
        """

    def remove_topic(self, at: int, topic: str) -> None:
        """Add rows for everything that ends with a topic that the broker no longer lists."""


@dataclass(frozen=True, slots=True)
class SilverInput:
    """An input of silver.

    Attributes:
        api_keys: the API keys of the responses that it reads.
        tables: its tables.
        state: creates the state of a broker from the function that adds rows.
        resumed: the names of the tables whose state gold keeps, so that old days are not needed.
    """

    api_keys: frozenset[int]
    tables: tuple[Table, ...]
    state: Callable[[AddRow], InputState]
    resumed: frozenset[str]
