"""What verbs that change topics share: the row of a change, and the texts of arguments as values."""

from __future__ import annotations

from dataclasses import dataclass

from kwire.client.admin import Outcomes
from kwire.parameters import InvalidArgument, parse_assignment, parse_configs
from kwire.verbs.verb import Failure, Rows

__all__ = ["Change", "InvalidArgument", "changes", "parse_assignment", "parse_configs"]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to an item.

    Attributes:
        name: the item, such as a topic.
        status: what happened to it, such as `created`, or `would be created` in a dry run.
        attempts: how often the request was sent.
    """

    name: str
    status: str
    attempts: int


def changes(outcomes: Outcomes, done: str, *, dry_run: bool) -> Rows[Change]:
    """Return the rows of a command.

    Args:
        done: what happened, as a participle such as `created`.
        dry_run: whether it only would have happened.
    """
    status = f"would be {done}" if dry_run else done
    return [
        Failure(item, error) if error is not None else Change(item, status, outcomes.attempts)
        for item, error in outcomes.items()
    ]
