"""The errors of planning and following reassignments."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Sequence


class ReassignError(KwireError):
    """A reassignment cannot be planned or executed. The text says why, and what to do."""


class MovesLeft(ReassignError):
    """The cluster refuses to cancel moves.

    Attributes:
        partitions: the partitions.
        reason: the refusal of the first one.
    """

    def __init__(self, partitions: Sequence[str], reason: str) -> None:
        super().__init__(partitions, reason)
        self.partitions = tuple(partitions)
        self.reason = reason

    def __str__(self) -> str:
        more = f" and {len(self.partitions) - 1} more" if len(self.partitions) > 1 else ""
        return (
            f"{self.partitions[0]}{more}: the cluster does not cancel the move, which goes on: {self.reason}. If "
            "replicas have no leader, start their brokers, and run `cancel` again"
        )


class InvalidPlanRequest(ReassignError):
    """The goals contradict each other, or name brokers or topics that do not exist."""


class InvalidAssignment(ReassignError):
    """A file is not a reassignment in Kafka's JSON form."""


class InvalidSnapshot(ReassignError):
    """A file is not a snapshot of a cluster."""


class InvalidJournal(ReassignError):
    """A journal has a line that this version cannot read."""


class InfeasiblePlan(ReassignError):
    """No assignment fulfills the hard constraints."""
