"""The page of performance on the documentation site: charts and tables from the newest records of the benchmarks."""

from __future__ import annotations

import json
from html import escape
from math import log10
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

RECORDS = Path(__file__).parents[1] / "benches" / "records"

LABEL_WIDTH, BAR_WIDTH, BAR_HEIGHT = 500, 220, 22
CHARTED = 1.5
"""Minimum ratio of a figure in the chart; the others are in the table."""


class Bar(NamedTuple):
    """A bar of a chart: its length in relation to others, and the text beside it."""

    label: str
    length: float
    text: str
    is_kwire: bool = True


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to the site."""
    files.append(File.generated(config, "performance.md", content="\n".join(performance_page())))
    return files


def performance_page() -> Iterator[str]:
    """Return the lines of the page."""
    codecs, native, figures = _newest("2"), _newest("native-"), _newest("figures-")
    yield "# Performance\n"
    yield "These charts compare kwire with other programs. Only the ratios of times within one chart are"
    yield "meaningful, because times differ between machines. `make bench` measures on your machine, in a checkout"
    yield "of the repository. [Speed](design/speed.md) explains the figures.\n"
    yield "## The codec and other codecs in Python\n"
    for operation in ("decode", "encode"):
        yield chart(sorted(_codec_bars(codecs, operation), key=lambda bar: bar.length))
        yield f"\nMilliseconds to {operation} a MetadataResponse v12 with 5,000 topics of 20 partitions, on a"
        yield f"logarithmic scale; smaller is better (`python -m benches.run`, {_where(codecs)}).\n"
    yield "## The codec and codecs in Java, Go, and Rust\n"
    yield chart(sorted(_native_bars(native), key=lambda bar: bar.length))
    yield "\nNanoseconds to decode one partition of a MetadataResponse v12 with 100,000 partitions into objects, on a"
    yield f"logarithmic scale; smaller is better (`python -m benches.native`, {_where(native)}).\n"
    yield "## The parts that are built on the codec\n"
    faster = [
        figure
        for figure in _all(figures)
        if figure["unit"] == "x" and figure["higher_is_better"] and figure["value"] >= CHARTED
    ]
    # A logarithmic scale, because the figures span two orders of magnitude.
    bars = [Bar(figure["name"], log10(figure["value"]), f"{figure['value']:.3g}") for figure in faster]
    yield chart(sorted(bars, key=lambda bar: -bar.length))
    yield "\nEach bar shows how many times as fast kwire is as the program that the name of the bar says. The scale is"
    yield f"logarithmic; larger is better (`python -m benches.figures`, {_where(figures)}). (b) is a"
    yield "MetadataResponse with 100,000 partitions. The same run also measured:\n"
    yield "| figure | value | measured |\n|---|---|---|"
    for figure in _all(figures):
        if figure not in faster:
            yield f"| {figure['name']} | {figure['value']:.3g} {figure['unit']} | {figure['detail']} |"


def chart(bars: Sequence[Bar]) -> str:
    """Return a bar chart as SVG inside of Markdown. Its colors are those of the site's theme."""
    longest = max(bar.length for bar in bars)
    width, height = LABEL_WIDTH + BAR_WIDTH + 60, len(bars) * BAR_HEIGHT
    parts = [f'<div><svg viewBox="0 0 {width} {height}" font-size="13" fill="currentColor" role="img">']
    for number, bar in enumerate(bars):
        top, length = number * BAR_HEIGHT, BAR_WIDTH * bar.length / longest
        color = "var(--md-primary-fg-color)" if bar.is_kwire else "#9aa4b2"
        parts.append(
            f'<text x="{LABEL_WIDTH - 8}" y="{top + 15}" text-anchor="end">{escape(bar.label)}</text>'
            f'<rect x="{LABEL_WIDTH}" y="{top + 3}" width="{length:.1f}" height="{BAR_HEIGHT - 6}" fill="{color}"/>'
            f'<text x="{LABEL_WIDTH + length + 6:.1f}" y="{top + 15}">{escape(bar.text)}</text>'
        )
    return "".join(parts) + "</svg></div>"


def _codec_bars(record: dict[str, Any], operation: str) -> Iterator[Bar]:
    """Yield a bar for each codec in Python and the larger message of version 12."""
    timing = next(
        timing
        for timing in record["timings"]
        if (timing["workload"]["name"], timing["workload"]["version"]) == ("b", 12)
    )
    for sample in timing["samples"]:
        # The rows with unknown tags have a message of their own.
        if sample["operation"] == operation and "tags" not in sample["peer"]:
            free_ns = sample.get("free_ns") or [0.0] * len(sample["call_ns"])
            ms = median(map(sum, zip(sample["call_ns"], free_ns, strict=True))) / 1_000_000
            yield Bar(f"{sample['peer']} (Python)", log10(1 + ms), f"{ms:.3g}", sample["peer"] == "kwire")


def _native_bars(record: dict[str, Any]) -> Iterator[Bar]:
    for taken in record["taken"]:
        # kwire's own tree of values in Rust is for tests of the crate.
        if "decode" in taken["thread_ns"] and taken["name"] != "kwire, Value":
            ns = median(taken["thread_ns"]["decode"]) / 100_000
            is_kwire = taken["name"].startswith("kwire")
            yield Bar(f"{taken['name']} ({taken['language']})", log10(1 + ns), f"{ns:.0f}", is_kwire)


def _newest(prefix: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(max(RECORDS.glob(f"{prefix}*.json")).read_text(encoding="utf-8"))
    return record


def _all(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [figure for figures in record["figures"].values() for figure in figures]


def _where(record: dict[str, Any]) -> str:
    machine = record["machine"]
    return f"{record['made'][:10]}, {machine['python']}, {machine['cores']} cores of {machine['processor']}"
