"""A plan as text for people: what it moves, how good it is, and the loads of brokers before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.readable import counted, duration_text, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_admin.reassignment.plan import BrokerLoad, Plan, Proof
    from kwire_admin.reassignment.simulator import Course

__all__ = ["summary_text"]

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
