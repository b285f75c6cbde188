"""`kafka transactions describe`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwire.client.admin import AdminError
from kwire.verbs.changes import InvalidArgument
from kwire.verbs.verb import Argument, Failure, Rows, Run, verb


@dataclass(frozen=True, slots=True)
class TransactionDetails:
    """A transaction. See `kwire.client.admin.TransactionDescription`."""

    name: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[str, ...]


@verb(dialects=("kafka",), examples=("transactions describe payments",))
async def describe(
    run: Run, transactions: Annotated[list[str], Argument("Transactional ids.", "ID", "transactions")]
) -> Rows[TransactionDetails]:
    """Describe transactions with the partitions that they have written to."""
    if not transactions:
        raise InvalidArgument("name at least one transactional id")
    return [
        Failure(name, each)
        if isinstance(each, AdminError)
        else TransactionDetails(
            name,
            each.state,
            each.producer_id,
            each.producer_epoch,
            each.timeout_ms,
            each.started_ms,
            tuple(map(str, each.partitions)),
        )
        for name, each in (await run.admin.describe_transactions(transactions)).items()
    ]
