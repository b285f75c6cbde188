"""`kafka reassign-partitions plan`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire._util.products import install_hint
from kwire._util.readable import counted, duration_text, size_text
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import InvalidArgument, Option, Syntax, read_argument
from kwire_admin.operations.reassignment_runs import SIZE, parse_size
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.reassignment.errors import InvalidSnapshot
from kwire_admin.reassignment.plan import Balance, BrokerLoad, Plan, PlanRequest
from kwire_admin.reassignment.schedule import BatchLimits, batches
from kwire_admin.reassignment.snapshot import ClusterSnapshot
from kwire_admin.reassignment.snapshot_reader import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_admin.reassignment.plan import Proof
    from kwire_admin.reassignment.simulator import Course


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan.

    Attributes:
        text: the plan as text.
        file: the file of the plan; None if none was written, or if nothing moves.
        moves: partitions that change.
        new_replicas: replicas that are copied.
        new_bytes: bytes that are copied; None if sizes are unknown.
        measure: the measure that has the bound: `replicas` or `bytes`.
        moved: amount that the plan moves.
        bound: no plan for the same goals moves less.
        optimal: true if the plan moves no more than the bound.
        seconds: duration at the throttle, by simulation; None without throttle or sizes.
        notes: goals that were not reached.
        brokers: the loads of brokers before and after.
        assignment: the plan in Kafka's JSON form, as `execute` reads it.
    """

    text: str = field(metadata=column(unit="text"))
    file: str | None = field(metadata=column(table=False))
    moves: int = field(metadata=column(table=False))
    new_replicas: int = field(metadata=column(table=False))
    new_bytes: int | None = field(metadata=column(table=False))
    measure: str | None = field(metadata=column(table=False))
    moved: int | None = field(metadata=column(table=False))
    bound: int | None = field(metadata=column(table=False))
    optimal: bool | None = field(metadata=column(table=False))
    seconds: float | None = field(metadata=column(table=False))
    notes: tuple[str, ...] = field(metadata=column(table=False))
    brokers: tuple[BrokerLoad, ...] = field(metadata=column(table=False))
    assignment: str = field(metadata=column(table=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Goals, topics, and limits of a plan."""

    balance: Annotated[
        list[str],
        Option("Balance count, size, or leaders; NAME=WEIGHT makes one of them heavier.", "GOAL", syntax=GOAL),
    ] = field(default_factory=list)
    drain: Annotated[
        list[int], Option("Move all replicas away from this broker.", "ID", "brokers", minimum=0, maximum=2**31 - 1)
    ] = field(default_factory=list)
    replication_factor: Annotated[int | None, Option("The new replication factor of the topics.", "N", minimum=1)] = (
        None
    )
    topic: Annotated[list[str], Option("Plan only topics that match this pattern [default: all].", "PATTERN")] = field(
        default_factory=list
    )
    exclude: Annotated[list[str], Option("Leave topics that match this pattern where they are.", "PATTERN")] = field(
        default_factory=list
    )
    tolerance: Annotated[
        float, Option("How far bytes may be from their share [default: 0.05].", "SHARE", minimum=0.001, maximum=0.999)
    ] = 0.05
    disk_limit: Annotated[
        float, Option("The share of a disk that may be used [default: 0.85].", "SHARE", minimum=0.001, maximum=1)
    ] = 0.85
    ignore_racks: Annotated[bool, Option("Plan as if brokers had no racks.")] = False
    throttle: Annotated[
        str | None, Option("Estimate the time at this rate for each broker, such as 50M.", "RATE", syntax=SIZE)
    ] = None
    snapshot: Annotated[
        Path | None, Option("Plan for a snapshot or a capture instead of the cluster.", "PATH", document=True)
    ] = None
    file: Annotated[Path | None, Option("The file for the plan, which `execute` reads.", "FILE")] = None


@operation(
    examples=(
        "reassign-partitions plan --drain 3",
        "reassign-partitions plan --drain 3 --file drain.json",
        "reassign-partitions plan --balance count --balance leaders --exclude '__*'",
        "reassign-partitions plan --balance size=2 --balance count --throttle 50M --file rebalance.json",
        "reassign-partitions plan --replication-factor 3 --topic 'orders-*'",
    ),
    connects=lambda arguments: arguments["snapshot"] is None,
)
async def plan(run: Run, options: PlanOptions) -> Rows[PlanReport]:
    """Plan a reassignment with the least data to move, in Kafka's JSON form.

    Replicas that are well placed stay. Without `balance`, only what must move is moved. New brokers receive their share
    when something is balanced. The spread of partitions over racks never becomes worse.
    """
    rate = None if options.throttle is None else parse_size(options.throttle)
    request = PlanRequest(
        balance=parse_balance(options.balance),
        drain=frozenset(options.drain),
        replication_factor=options.replication_factor,
        topics=tuple(options.topic),
        exclude=tuple(options.exclude),
        tolerance=options.tolerance,
        disk_limit=options.disk_limit,
        rack_aware=not options.ignore_racks,
    )
    made = make_plan(await snapshot_of(run, options.snapshot), request)
    written = options.file if made.moves else None
    if written is not None:
        run.files.write(written, made.file().to_json())
    return [_report(made, rate, written, options.throttle)]


def _report(made: Plan, rate: int | None, file: Path | None, throttle: str | None) -> PlanReport:
    sized = made.snapshot.has_sizes
    from kwire_admin.reassignment.simulator import simulate  # it needs NumPy, and HTTP imports all verbs

    course = simulate(batches(made.moves, BatchLimits()), rate) if sized and rate is not None else None
    text = summary_text(made, course, rate)
    execute = f"kafka reassign execute {file or 'FILE'}{f' --throttle {throttle}' if throttle else ''}"
    if not made.moves:
        text += "\nNo file was written: all partitions stay where they are.\n"
    elif file is None:
        text += f"\nNo file was written: name one with --file, and execute it with: {execute}\n"
    proof = made.proof
    return PlanReport(
        f"{text}\nThe plan is in {file}. Execute it with: {execute}\n" if file else text,
        None if file is None else str(file),
        len(made.moves),
        made.replicas_added,
        made.data if sized else None,
        None if proof is None else proof.measure,
        None if proof is None else proof.moved,
        None if proof is None else proof.bound,
        None if proof is None else proof.is_optimal,
        None if course is None else course.seconds,
        made.notes,
        made.loads,
        made.file().to_json(),
    )


GOAL = Syntax(
    rf"({'|'.join(Balance)})(?:=([1-9][0-9]{{0,8}}(?:\.[0-9]{{1,6}})?|0\.[0-9]{{0,5}}[1-9]0{{0,6}}))?",
    f"a goal: write {', '.join(Balance)}, or one of them with a weight above 0, such as size=2",
)


def parse_balance(texts: Sequence[str]) -> dict[Balance, float]:
    """Return weights by goal from texts such as `count` and `size=2`.

    Raises:
        InvalidArgument: a text is not a goal, or a weight is not above 0.
    """
    goals = [GOAL.match(text).groups() for text in texts]
    return {Balance(name): 1.0 if weight is None else float(weight) for name, weight in goals}


async def snapshot_of(run: Run, path: Path | None) -> ClusterSnapshot:
    """Return the snapshot in a file or a capture, or of the cluster.

    Raises:
        InvalidArgument: the file cannot be read, or is not a snapshot; or neither a file nor a cluster was named.
        CaptureError: the folder is not a capture.
    """
    if path is None:
        return await read_snapshot(run.admin)
    return _snapshot_in(path)


def _snapshot_in(path: Path) -> ClusterSnapshot:
    try:
        if path.is_dir():
            from kwire_admin.reassignment.snapshot_reader import snapshot_of_capture

            return snapshot_of_capture(path)
        return ClusterSnapshot.from_json(read_argument(path))
    except OSError as error:
        raise InvalidArgument(f"cannot read {path}: {error.strerror or error}") from None
    except InvalidSnapshot as error:
        raise InvalidArgument(f"{path}: {error}") from None
    except ModuleNotFoundError as error:
        raise InvalidArgument(install_hint(error) or str(error)) from None


def make_plan(snapshot: ClusterSnapshot, request: PlanRequest) -> Plan:
    """Return a plan.

    Raises:
        InvalidArgument: the libraries for planning are missing.
        InvalidRequest: see `kwire_admin.reassignment.planning.planner.plan`, as for InfeasiblePlan.
    """
    try:
        from kwire_admin.reassignment.planning.planner import plan
    except ModuleNotFoundError as error:
        raise InvalidArgument(install_hint(error) or str(error)) from None
    return plan(snapshot, request)


PICTURE_WIDTH = 30
MOST_BROKERS = 120
"""Brokers up to which a picture has one line for each."""


def summary_text(plan: Plan, course: Course | None, rate: int | None) -> str:
    """Return the text of a plan.

    Args:
        course: its simulated course; None if sizes are unknown.
        rate: the throttle, in bytes a second; None without one.
    """
    return "\n".join([*_sentences(plan, course, rate), "", *_table(plan.loads), "", *_picture(plan.loads)]) + "\n"


def _sentences(plan: Plan, course: Course | None, rate: int | None) -> Iterator[str]:
    data = f", {size_text(plan.data)} to copy" if plan.snapshot.has_sizes else ""
    moved = f"{counted(len(plan.moves), 'partition')} {'changes' if len(plan.moves) == 1 else 'change'}"
    yield f"{moved}: {counted(plan.replicas_added, 'new replica')}{data}."
    if plan.proof is not None:
        yield _proof_sentence(plan.proof)
    if course is not None and rate is not None:
        yield f"At {size_text(rate)}/s for each broker: about {duration_text(course.seconds)}."
    led = [partition for partition in plan.snapshot.partitions if partition.leader not in (None, partition.replicas[0])]
    if led:
        yield (
            f"{counted(len(led), 'partition')} {'is' if len(led) == 1 else 'are'} led by another replica than the "
            "preferred one: `kafka elections run` changes that, without copying anything."
        )
    for note in plan.notes:
        yield f"Note: {note}."


def _proof_sentence(proof: Proof) -> str:
    def amount(value: int) -> str:
        return size_text(value) if proof.measure == "bytes" else counted(value, "replica")

    if proof.is_optimal and not proof.bound:
        return "Optimal: these goals need no data to move."
    if proof.is_optimal:
        return f"Optimal: no plan for these goals moves fewer than {amount(proof.bound)}."
    return (
        f"Moves {amount(proof.moved)}; no plan for these goals moves less than {amount(proof.bound)} "
        f"(gap {proof.ratio - 1:.2%})."
    )


def _table(loads: Sequence[BrokerLoad]) -> Iterator[str]:
    """Yield the lines of a table with a column for each load that is known.

    PREFERRED counts the partitions that prefer the broker as leader; others may lead them now.
    """
    sized = any(load.size is not None for load in loads)
    titles = ["BROKER", "RACK", "REPLICAS", "AFTER", "PREFERRED", "AFTER"]
    titles += ["BYTES", "AFTER", "INCOMING"] if sized else []
    rows = [titles]
    for load in loads:
        row = [
            str(load.broker),
            load.rack or "-",
            *map(str, (load.replicas, load.replicas_after, load.leaders, load.leaders_after)),
        ]
        if sized:
            row += [size_text(value or 0) for value in (load.size, load.size_after, load.incoming)]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _picture(loads: Sequence[BrokerLoad]) -> Iterator[str]:
    """Yield a bar for each broker: `=` stays, `-` leaves, `+` arrives; by bytes if they are known."""
    sized = all(load.size is not None for load in loads)
    pairs = [
        ((load.size or 0, load.size_after or 0) if sized else (load.replicas, load.replicas_after)) for load in loads
    ]
    highest = max((value for pair in pairs for value in pair), default=0)
    if not highest or len(loads) > MOST_BROKERS:
        return
    width = max(len(str(load.broker)) for load in loads)
    yield f"{'bytes' if sized else 'replicas'} of each broker: = stays, - leaves, + arrives"
    for load, (before, after) in zip(loads, pairs, strict=True):
        both, longer = (round(value / highest * PICTURE_WIDTH) for value in (min(before, after), max(before, after)))
        yield f"{load.broker:>{width}} |{'=' * both}{('+' if after > before else '-') * (longer - both)}"
