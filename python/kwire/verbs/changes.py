"""What verbs that change topics share: the row of a change, and the texts of arguments as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kwire.client.admin import Outcomes
from kwire.parameters import InvalidArgument
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


def parse_configs(texts: Sequence[str]) -> Mapping[str, str]:
    """Return configs from texts such as `retention.ms=1000`.

    Raises:
        InvalidArgument: a text has no `=`, or a key is given twice.
    """
    configs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidArgument(f"{text!r} is not a config: write KEY=VALUE")
        if key in configs:
            raise InvalidArgument(f"config {key} is given twice")
        configs[key] = value
    return configs


def parse_assignment(text: str | None) -> Mapping[int, Sequence[int]]:
    """Return an assignment from a text such as `1:2,2:3`: broker ids, `:` between replicas, `,` between partitions.

    Raises:
        InvalidArgument: the text is not an assignment.
    """
    if text is None:
        return {}
    try:
        return {
            index: tuple(int(broker) for broker in replicas.split(":"))
            for index, replicas in enumerate(text.split(","))
        }
    except ValueError:
        raise InvalidArgument(
            f"{text!r} is not a replica assignment: write broker ids with ':' between the replicas of a partition and "
            "',' between partitions, such as 1:2,2:3"
        ) from None
