"""Changes of items such as topics: checked first, then reported by a dry run or carried out, as rows of results."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Protocol
from kwire.client.admin import AdminError, Outcomes
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.rows import column

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from kwire_admin.operations.declaration import Rows
    from kwire_admin.operations.run import Run


class Change(Protocol):
    """A change of items, such as a method of AdminClient."""

    async def __call__(self, items: Sequence[str], /, *, validate_only: bool = False) -> Outcomes:
        """Change items, or return what a change would."""


@dataclass(frozen=True, slots=True)
class ItemChange:
    """The outcome of a change of an item.

    Attributes:
        name: the item, such as a topic.
        status: the outcome, such as `created`, or `would be created` in a dry run; `unchanged` if there was nothing to
            do.
        attempts: number of times the request was sent.
    """

    name: str
    status: str
    attempts: int = field(metadata=column(table=False))


async def carry_out(run: Run, items: Iterable[str], question: str, change: Change) -> Outcomes:
    """Change the items that a validation accepts; a dry run only returns the validation.

    Args:
        items: the items; one that is named twice is changed once.
        question: the question before the change; empty for no question.
        change: changes items.
    """
    checked = await change([*dict.fromkeys(items)], validate_only=True)
    accepted = [item for item, error in checked.items() if error is None and item not in checked.unchanged]
    if not accepted or run.dry_run:
        return checked
    if question:
        run.confirm(question)
    outcomes = await change(accepted)
    return Outcomes({**checked, **outcomes}, outcomes.attempts, unchanged=checked.unchanged)


async def wait_if_visible(run: Run, waiting: Awaitable[None]) -> None:
    """Wait for a change that was made. A user who cannot describe the topic learns that it is made, and no more."""
    try:
        await waiting
    except AdminError as error:
        if error.code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise
        run.warn(f"the change is made, but this user cannot see if every broker reports it ({error.reason}).")


def changes(outcomes: Outcomes, done: str, *, dry_run: bool) -> Rows[ItemChange]:
    """Return the rows of a command.

    Args:
        done: the outcome, as a participle such as `created`.
        dry_run: true if it only would have happened.
    """
    status = f"would be {done}" if dry_run else done
    return [
        Failure(item, error)
        if error is not None
        else ItemChange(item, *(("unchanged", 0) if item in outcomes.unchanged else (status, outcomes.attempts)))
        for item, error in outcomes.items()
    ]
