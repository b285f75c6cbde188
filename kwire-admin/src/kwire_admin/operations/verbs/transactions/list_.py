"""`kafka transactions list`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.visibility import warn_if_hidden, warn_of_unknown


@dataclass(frozen=True, slots=True)
class TransactionSummary:
    """A transactional id in a list. See `kwire.client.admin.TransactionListing`."""

    name: str
    producer_id: int
    state: str
    coordinator: int


@operation(
    nothing="No transactions.",
    lists="transactions",
    dialects=("kafka",),
    examples=("transactions list", "transactions list --state Ongoing"),
)
async def list_(
    run: Run,
    state: Annotated[list[str], Option("Only these states, such as Ongoing.", "STATE")] = [],
) -> Rows[TransactionSummary]:
    """List transactional ids with the states of their transactions."""
    unanswered: dict[int, Exception] = {}
    rows: Rows[TransactionSummary] = [
        TransactionSummary(
            transaction.transactional_id, transaction.producer_id, transaction.state, transaction.coordinator
        )
        for transaction in await run.admin.list_transactions(states=state, unanswered=unanswered)
    ]
    await warn_of_unknown(run, "transactional ids", unanswered)
    await warn_if_hidden(run, len(rows), "transactional ids", filtered=bool(state))
    return rows
