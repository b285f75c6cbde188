"""The errors of planning and following reassignments."""

from __future__ import annotations

from kwire.errors import KwireError


class ReassignError(KwireError):
    """A reassignment cannot be planned or executed. The text says why, and what to do."""


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
