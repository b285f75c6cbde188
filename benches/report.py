"""Draw a record as the chart of the README: `python -m benches.report [RECORD] [--out FILE]`.

The chart has three panels for the largest message: decoding, encoding, and the memory of a decoded message. Axes are
linear and start at zero, every bar shows its value, and thin lines show the quartiles.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benches.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benches.interleave import Operation
    from benches.record import Held, Timing

PICTURE = Path(__file__).parents[1] / "docs" / "benchmarks.svg"
KWIRE_COLOR, PEER_COLOR, TEXT_COLOR = "#1f6feb", "#b4bcc8", "#57606a"
# Keep text as text, and make the file reproducible.
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "kwire", "font.family": "sans-serif", "font.size": 10}


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    lower: float
    upper: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.report", description="Draw a record.")
    parser.add_argument("record", nargs="?", type=Path, help="the record to draw [default: the newest]")
    parser.add_argument("--out", type=Path, default=PICTURE, help="an .svg or .png file [default: docs/benchmarks.svg]")
    given = parser.parse_args()
    record = Record.load(given.record) if given.record else Record.latest()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        # Without a date, so that the file only changes with the record.
        draw(record).savefig(given.out, metadata={"Date": None} if given.out.suffix == ".svg" else None)
    print(f"wrote {given.out} from the record of {record.made}")


def draw(record: Record) -> Figure:
    timing = largest_timing(record)
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    decode, encode, memory = figure.subplots(1, 3)
    version = timing.workload.version
    draw_panel(decode, f"decode v{version}, ns a partition", times(timing, "decode"))
    draw_panel(encode, f"encode v{version}, ns a partition", times(timing, "encode"))
    for held_memory in record.held:
        draw_panel(memory, f"v{held_memory.workload.version} held, bytes a partition", held(held_memory))
    machine = record.machine
    figure.suptitle(f"MetadataResponse, {timing.workload.partitions:,} partitions", x=0.01, ha="left")
    where = f"{record.made[:10]}, {machine.python}, {machine.processor}"
    how = f"CPU time, medians of {record.rounds} interleaved rounds; msgspec decodes the same content as MessagePack"
    figure.supxlabel(f"{where}; {how}", fontsize=8, color=TEXT_COLOR)
    return figure


def largest_timing(record: Record) -> Timing:
    """Return the timing with the most partitions, preferring Kafka-like placement and the newest version."""
    if not record.timings:
        raise SystemExit("the record has no timings")
    return max(
        (timing for timing in record.timings if timing.workload.message == "MetadataResponse"),
        key=lambda timing: (
            timing.workload.partitions,
            timing.workload.replicas == "kafka-like",
            timing.workload.version,
        ),
    )


def times(timing: Timing, operation: Operation) -> list[Bar]:
    bars = []
    for samples in timing.samples:
        if samples.operation == operation:
            lower, middle, upper = (
                quantile / timing.workload.partitions
                for quantile in quantiles(samples.call_ns, n=4, method="inclusive")
            )
            bars.append(Bar(samples.peer, middle, lower, upper))
    return bars


def held(held: Held) -> list[Bar]:
    partitions = held.workload.partitions
    values = {memory.peer: memory.held_bytes / partitions for memory in held.memory}
    return [Bar(peer, value, value, value) for peer, value in values.items()]


def draw_panel(axes: Axes, title: str, bars: list[Bar]) -> None:
    bars = sorted(bars, key=lambda bar: bar.value, reverse=True)
    positions = range(len(bars))
    colors = [KWIRE_COLOR if bar.label == "kwire" else PEER_COLOR for bar in bars]
    axes.barh(positions, [bar.value for bar in bars], color=colors, height=0.7)
    axes.hlines(positions, [bar.lower for bar in bars], [bar.upper for bar in bars], color=TEXT_COLOR, linewidth=1)
    for position, bar in zip(positions, bars, strict=True):
        axes.annotate(f"{bar.value:,.0f}", (bar.upper, position), (4, 0), textcoords="offset points", va="center")
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_yticks(positions, [bar.label for bar in bars])
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.margins(x=0.25)
    axes.spines[:].set_visible(False)


if __name__ == "__main__":
    main()
