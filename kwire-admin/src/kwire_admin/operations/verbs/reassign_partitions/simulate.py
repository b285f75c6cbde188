"""`kafka reassign-partitions simulate`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted, duration_text
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.reassignment_runs import SIZE, BatchSize, MovesPerBroker, parse_size, read_file
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.reassign_partitions.plan import snapshot_of
from kwire_admin.reassignment.plan import moves_of
from kwire_admin.reassignment.schedule import BatchLimits, batches


@dataclass(frozen=True, slots=True)
class SimulatedBroker:
    """The load of a broker during a plan.

    Attributes:
        broker: its id.
        sent: bytes that it sends.
        received: bytes that it receives.
        peak_out: the largest rate at which it sends, in bytes a second.
        peak_in: the largest rate at which it receives.
        peak_extra: the most bytes that it stores in addition to what it has now.
    """

    broker: int
    sent: int = field(metadata=column(unit="bytes"))
    received: int = field(metadata=column(unit="bytes"))
    peak_out: int = field(metadata=column(unit="bytes"))
    peak_in: int = field(metadata=column(unit="bytes"))
    peak_extra: int = field(metadata=column(unit="bytes"))


@operation(
    examples=(
        "reassign-partitions simulate reassignment.json --throttle 50M",
        "reassign-partitions simulate reassignment.json --snapshot cluster.json",
    ),
    connects=lambda arguments: arguments["snapshot"] is None,
)
async def simulate(
    run: Run,
    file: Annotated[Path, Argument("A plan in Kafka's JSON form.", "FILE", document=True)],
    throttle: Annotated[str, Option("Bytes a second of each broker [default: 50M].", "RATE", syntax=SIZE)] = "50M",
    batch_size: BatchSize = None,
    moves_per_broker: MovesPerBroker = 5,
    snapshot: Annotated[
        Path | None,
        Option("Take sizes from a snapshot or a capture instead of the cluster.", "PATH", document=True),
    ] = None,
) -> Rows[SimulatedBroker]:
    """Simulate a plan: how long it takes, and the load of each broker meanwhile."""
    rate = parse_size(throttle)
    taken = await snapshot_of(run, snapshot)
    moves = moves_of(taken, read_file(file).targets)
    limits = BatchLimits(data=0 if batch_size is None else parse_size(batch_size), moves_per_broker=moves_per_broker)
    from kwire_admin.reassignment.simulator import simulate as course_of  # it needs NumPy, and HTTP imports all verbs

    course = course_of(batches(moves, limits), rate)
    steps = f"{counted(len(moves), 'partition')} in {counted(len(course.batch_seconds), 'batch')}"
    run.note(f"{steps}: {duration_text(course.seconds)}")
    if not taken.has_sizes:
        run.note("the sizes of partitions are unknown, so no time is simulated")
    return [
        SimulatedBroker(
            broker.broker,
            broker.sent,
            broker.received,
            round(broker.peak_out),
            round(broker.peak_in),
            broker.peak_extra,
        )
        for broker in course.brokers
    ]
