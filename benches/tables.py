"""Tables of a record for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from benches.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from benches.figure import Figure
    from benches.imports import Import
    from benches.interleave import Operation, Samples
    from benches.record import Held, Record, Timing

STYLES = {"goal": "bold green", "met": "green", "missed": "bold red"}


def heading(record: Record) -> RenderableType:
    machine = record.machine
    where = f"{machine.python}, {machine.processor}, {machine.cores} cores, load {machine.load[0]:.1f}"
    lines = [
        f"kwire {record.commit} on {where}",
        f"CPU time, median of {record.rounds} rounds in random order, ± half the interquartile range",
    ]
    if record.quick:
        lines.append("Quick run with few rounds: do not quote these numbers.")
    return Text("\n".join(lines))


def timing(timing: Timing) -> RenderableType:
    """Return the times of a partition, or of a message without partitions, and the ratios to kwire."""
    partitions = timing.workload.partitions or 1
    unit = "ns a partition" if timing.workload.partitions else "ns a message"
    table = Table(title=f"{timing.workload}: {timing.bytes:,} bytes, {unit}", title_justify="left")
    table.add_column("")
    for column in ("decode", "kwire", "free", "with free", "encode", "kwire "):
        table.add_column(column, justify="right", no_wrap=True)
    peers = list(dict.fromkeys(samples.peer for samples in timing.samples))
    for peer in peers:
        table.add_row(
            peer,
            taken(timing, peer, "decode", partitions),
            times(timing, peer, "decode"),
            freed(timing, peer, partitions),
            times(timing, peer, "decode", freeing=True),
            taken(timing, peer, "encode", partitions),
            times(timing, peer, "encode"),
        )
    if (validated := timing.find("kwire", "validate")) is not None:
        table.add_row("kwire, validate", with_spread(validated, partitions))
    if (viewed := timing.find("kwire", "view")) is not None:
        table.add_row("kwire, view, ten topics", with_spread(viewed, partitions))
    if timing.unable:
        table.caption = "; ".join(f"{peer}: {reason}" for peer, reason in timing.unable.items())
        table.caption_justify = "left"
    return table


def taken(timing: Timing, peer: str, operation: Operation, partitions: int) -> str:
    samples = timing.find(peer, operation)
    if samples is None:
        return ""
    return with_spread(samples, partitions)


def with_spread(samples: Samples, partitions: int) -> str:
    """Format a time with three digits, the precision of a median of a dozen rounds."""
    taken = samples.median_ns / partitions
    return f"{taken:,.{0 if taken >= 100 else 1}f} ±{samples.spread / 2:3.0%}"


def freed(timing: Timing, peer: str, partitions: int) -> str:
    samples = timing.find(peer, "decode")
    return "" if samples is None else f"{samples.median_free_ns / partitions:,.1f}"


def times(timing: Timing, peer: str, operation: Operation, *, freeing: bool = False) -> str:
    ours, theirs = timing.find("kwire", operation), timing.find(peer, operation)
    if ours is None or theirs is None or peer == "kwire":
        return ""
    if freeing:
        ratio = (theirs.median_ns + theirs.median_free_ns) / (ours.median_ns + ours.median_free_ns)
    else:
        ratio = theirs.median_ns / ours.median_ns
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def held(held: Held) -> RenderableType:
    partitions = held.workload.partitions
    table = Table(title=f"{held.workload}, memory of a decoded message; bytes and ns a partition", title_justify="left")
    for column in ("", "bytes each", "resident", "peak", "cold decode, ns", "collection, ms", "idle, ms"):
        table.add_column(column, justify="right" if column else "left")
    for memory in held.memory:
        table.add_row(
            memory.peer,
            f"{memory.held_bytes / partitions:.0f}",
            "?" if memory.resident_bytes is None else f"{memory.resident_bytes / partitions:.0f}",
            "?" if memory.peak_bytes is None else f"{memory.peak_bytes / partitions:.0f}",
            f"{memory.cold_ns / partitions:.0f}",
            f"{memory.collect_ns / 1e6:.1f}",
            f"{memory.idle_collect_ns / 1e6:.1f}",
        )
    return table


def imports(imports: list[Import]) -> RenderableType:
    table = Table(title="Import, CPU ms more than a bare interpreter", title_justify="left")
    table.add_column("")
    table.add_column("ms", justify="right")
    table.add_column("statement")
    for import_time in imports:
        table.add_row(import_time.peer, f"{import_time.median_ns / 1e6:.1f}", import_time.statement)
    return table


def targets(record: Record) -> RenderableType:
    measured = [figure for target in TARGETS if (figure := target.figure(record)) is not None]
    return figures("Targets", measured)


def figures(title: str, rows: Sequence[Figure]) -> RenderableType:
    """Return figures with their minima, goals, and verdicts."""
    table = Table(title=title, title_justify="left")
    for column in ("", "at least", "goal", "now", "", "how"):
        table.add_column(column, justify="right" if column in {"at least", "goal", "now"} else "left")
    for row in rows:
        sign = "" if row.higher_is_better else "<= "
        verdict = row.verdict()
        table.add_row(
            row.name,
            f"{sign}{row.at_least:.3g}{row.unit}",
            f"{sign}{row.goal:.3g}{row.unit}",
            f"{row.value:.3g}{row.unit}",
            Text(verdict, style=STYLES[verdict]),
            row.detail,
        )
    return table
