"""Changes of items such as topics: checked first, then reported by a dry run or carried out, as rows of results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kwire._util.light_dataclasses import dataclass
from kwire.client.admin import AdminError, Outcomes
from kwire.messages import find
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure, Rows
from kwire_admin.operations.run import Run

__all__ = ["ItemChange", "carry_out", "changes", "check_command", "errors_of", "wait_if_visible"]


@dataclass(frozen=True, slots=True)
class ItemChange:
    """The outcome of a change of an item.

    Attributes:
        name: the item, such as a topic.
        status: the outcome, such as `created`, or `would be created` in a dry run.
        attempts: number of times the request was sent.
    """

    name: str
    status: str
    attempts: int


def errors_of(described: Mapping[str, Any]) -> Outcomes:
    """Return which items cannot be changed, because they cannot be described."""
    return Outcomes({name: item if isinstance(item, AdminError) else None for name, item in described.items()})


async def check_command(run: Run, request: str) -> None:
    """In a dry run, check that the cluster serves the command that the real run would send.

    Brokers of other vendors often serve what describes a thing, and not what changes it. Nodes of kwire serve all
    commands of their verbs.

    Args:
        run: the run.
        request: the name of the request message.

    Raises:
        NoCommonVersion: the cluster does not serve it; the real run has the same error.
    """
    if run.dry_run and run.admin.dialect == "kafka":
        await run.admin.router.check_command(find("kafka", name=request))


async def carry_out(
    run: Run, checked: Outcomes, question: str, request: str, send: Callable[[list[str]], Awaitable[Outcomes]]
) -> Outcomes:
    """Change the items that a check has accepted; a dry run only returns the check.

    Both kinds of runs make the same check, so that a dry run reports the errors of the real one.

    Args:
        run: the run.
        checked: by item, the error that the change would have; None if it would be accepted.
        question: the question before the change; empty for no question.
        request: the name of the request message of Kafka with which `send` changes the items.
        send: changes the accepted items.
    """
    accepted = [item for item, error in checked.items() if error is None]
    if not accepted:
        return checked
    if run.dry_run:
        await check_command(run, request)
        return checked
    if question:
        run.confirm(question)
    outcomes = await send(accepted)
    return Outcomes({**checked, **outcomes}, outcomes.attempts)


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
        Failure(item, error) if error is not None else ItemChange(item, status, outcomes.attempts)
        for item, error in outcomes.items()
    ]
