"""Write docs/reference/scripts.md from a run of the old tools: `python -m tests.kafka.oracle.page`."""

from __future__ import annotations

import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire.testing.kafka import Kafka39
from tests.kafka.oracle.release_tools import ARTIFACTS, ReleaseTools
from tests.kafka.oracle.releases import CLASSES, ScriptOptions, script_options
from tests.kafka.oracle.runs import compare_old

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.kafka.oracle.comparison import Comparison

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "scripts.md"
KNOWN = {
    "kafka-preferred-replica-election --zookeeper {zookeeper} --path-to-json-file {files}/nosuch.json": (
        "kwire also prints the reason, on stderr"
    ),
    "kafka-configs": "0.9.0.1 has another first line of the usage",
}
"""Cases that differ from some release, with the reason."""
HEAD = """\
# Options of Kafka's scripts

<!-- Written by `python -m tests.kafka.oracle.page`. -->

This table comes from a run of Kafka's own tools, from the jars of each release, beside the
[scripts of kwire](../how-to/scripts.md). It covers what administers a cluster. Programs that start
servers, measure, or copy records from and to the console are left out. `make test-kafka` repeats the run and fails if a
row has changed.

- **Options** are named by the usage of the tool. *Without effect* are options that kwire accepts because old
  scripts pass them, and that have nothing to change here, such as a buffer size of Kafka's consumer.
- **Invocations** ran against two equal clusters, one for Kafka's tool and one for kwire's script. They are *equal* if
  all lines of stdout, the sentence of an error on stderr, and the exit code are equal. Traces of Java are left out, and
  lists that come from a set of Java are compared without their order.
"""


class OracleRun(NamedTuple):
    """A run of all releases.

    Attributes:
        options: the options of each script, by release and script.
        comparisons: the comparisons of invocations.
    """

    options: dict[tuple[str, str], ScriptOptions]
    comparisons: list[Comparison]


def run_oracle() -> OracleRun:
    """Start clusters and the tools of all releases, and compare them."""
    with ExitStack() as stack:
        tools = stack.enter_context(ReleaseTools(ARTIFACTS))
        with ThreadPoolExecutor(2) as threads:
            theirs, ours = [*threads.map(lambda _: stack.enter_context(Kafka39()), range(2))]
        options = {(release, name): found for release in CLASSES for name, found in script_options(tools, release)}
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        return OracleRun(options, [*compare_old(tools, theirs, ours, Path(folder))])


def different(run: OracleRun) -> list[Comparison]:
    """Return the invocations with other lines or another exit code that are not in KNOWN."""
    return [
        comparison for comparison in run.comparisons if not comparison.is_same and comparison.case.line not in KNOWN
    ]


def page(run: OracleRun) -> str:
    """Return the page."""
    equal = Counter(
        (comparison.case.release, comparison.case.line.split()[0])
        for comparison in run.comparisons
        if comparison.is_same
    )
    total = Counter((comparison.case.release, comparison.case.line.split()[0]) for comparison in run.comparisons)
    names = sum(len(option.names) for option in run.options.values())
    refused = sum(len(option.refused) for option in run.options.values())
    idle = sum(len(option.without_effect) for option in run.options.values())
    summary = (
        f"Of {names} options, {names - refused} are accepted ({(names - refused) / names:.1%}), and {idle} of these "
        f"have no effect. Of {total.total()} invocations, {equal.total()} are equal.\n"
    )
    lines = [
        HEAD,
        summary,
        "| release | script or class | options | refused | without effect | invocations | equal |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = dict.fromkeys([*run.options, *total])
    for release, name in sorted(rows, key=lambda row: ([*map(int, row[0].split("."))], row[1])):
        found = run.options.get((release, name), ScriptOptions((), (), ()))
        cells = (
            release,
            f"`{name}`",
            len(found.names) or "",
            _listed(found.refused),
            _listed(found.without_effect),
            total[release, name] or "",
            equal[release, name] if total[release, name] else "",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "## Invocations that differ", "", *_differences(run.comparisons), ""]
    return "\n".join(lines)


def _listed(options: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in options)


def _differences(comparisons: Iterable[Comparison]) -> Iterable[str]:
    releases: dict[str, list[str]] = {}
    for comparison in comparisons:
        if not comparison.is_same:
            releases.setdefault(comparison.case.line, []).append(comparison.case.release)
    for line, found in releases.items():
        yield f"- `{line}` ({', '.join(found)}): {KNOWN.get(line, 'unexpected')}."


if __name__ == "__main__":
    PAGE.write_text(page(run_oracle()), encoding="utf-8")
