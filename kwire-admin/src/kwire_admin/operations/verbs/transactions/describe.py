"""`kafka transactions describe`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire.client.admin import TransactionDescription
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument
from kwire_admin.operations.rows import column, rows_of
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class TransactionDetails:
    """A transaction. See `kwire.client.admin.TransactionDescription`."""

    name: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int = field(metadata=column(unit="ms"))
    started_ms: int | None = field(metadata=column(unit="time"))
    partitions: tuple[str, ...]


@operation(dialects=("kafka",), examples=("transactions describe payments",))
async def describe(
    run: Run,
    transactions: Annotated[list[str], Argument("Transactional ids.", "ID", "transactions", item="transactional id")],
) -> Rows[TransactionDetails]:
    """Describe transactions with the partitions that they have written to."""
    return rows_of(await run.admin.describe_transactions(transactions), _details)


def _details(name: str, described: TransactionDescription) -> TransactionDetails:
    return TransactionDetails(
        name,
        described.state,
        described.producer_id,
        described.producer_epoch,
        described.timeout_ms,
        described.started_ms,
        tuple(map(str, described.partitions)),
    )
