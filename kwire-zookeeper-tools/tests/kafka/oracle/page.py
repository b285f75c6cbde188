"""Write docs/reference/scripts.md from a run of Kafka's tools, and print the counts: `-m tests.kafka.oracle.page`."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kwire_admin.compat.registry import OLD_RELEASES
from kwire_cluster.local.local_cluster import LocalCluster
from tests.kafka.oracle.release_tools import ARTIFACTS, ReleaseTools
from tests.kafka.oracle.releases import CLASSES, ScriptOptions, script_options
from tests.kafka.oracle.runs import OldCluster, compare_new, compare_old
from tests.kafka.script_cases import RECORDED_CLUSTER_ID
from tests.paths import ROOT
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.kafka.oracle.comparison import Comparison

C = TypeVar("C", bound=KafkaCluster)
LONG_SESSIONS = {
    f"group.{kind}.{limit}session.timeout.ms": "3600000" for kind in ("share", "streams") for limit in ("", "max.")
}
"""Configs with which the members of groups live through the run."""
PAGE = ROOT / "docs" / "reference" / "scripts.md"
NO_RECORDS = "nodes hold no records: both fail, in other words"
KNOWN = {
    "kafka-transactions --bootstrap-server {bootstrap} list --transactional-id-pattern (": (
        "kwire says that the regular expression is invalid"
    ),
    (
        "kafka-configs --zookeeper {zookeeper} --alter --entity-type topics --entity-name {topic} "
        "--delete-config nonsense"
    ): "0.9.0.1 accepts a config that topics do not have; kwire refuses it",
}
"""Cases that differ from some release, with the reason."""
KNOWN_ON_NODES = {
    "kafka-run-class kafka.tools.GetOffsetShell --broker-list {bootstrap} --topic {topic} --time -1": NO_RECORDS,
    (
        "kafka-run-class kafka.tools.GetOffsetShell --broker-list {bootstrap} --topic {topic} --time -2 "
        "--partitions 0,1 --offsets 1 --max-wait-ms 500"
    ): NO_RECORDS,
    "kafka-consumer-groups --zookeeper {zookeeper} --describe --group {group}": (
        "Kafka's tool waits for the end of a log for ever; kwire prints the offsets, and that the end is unknown"
    ),
}
"""Cases that differ on kwire's nodes in addition."""
HEAD = """\
# Options of Kafka's scripts

<!-- Written by `python -m tests.kafka.oracle.page`. -->

This table comes from a run of Kafka's own tools, from the jars of each release, beside the
[scripts of kwire](../how-to/scripts.md). It covers what administers a cluster. Programs that start
servers, measure, or copy records from and to the console are left out. `make test-kafka` repeats the run and fails if a
row has changed.

- **Options** are named by the usage of the tool. *Without effect* are options that kwire accepts because old
  scripts pass them, and that have nothing to change here, such as a buffer size of Kafka's consumer.
- **Invocations** ran against two equal clusters, one for Kafka's tool and one for kwire's script: of Kafka 3.9.1 for
  releases with ZooKeeper, and of 4.4.0 for 4.4.0. Invocations with ZooKeeper also ran against two clusters of nodes.
  They are *equal* if all lines of stdout, the sentence of an error on stderr, and the exit code are equal. Traces of
  Java are left out, times are not compared, and lists that come from a set of Java are compared without their order.
"""


class OracleRun(NamedTuple):
    """A run of all releases.

    Attributes:
        options: the options of each script, by release and script.
        comparisons: the comparisons of invocations.
        on_nodes: the comparisons of invocations with ZooKeeper on clusters of kwire's nodes.
    """

    options: dict[tuple[str, str], ScriptOptions]
    comparisons: list[Comparison]
    on_nodes: list[Comparison]


def run_oracle() -> OracleRun:
    """Start clusters and the tools of all releases, and compare them."""
    with ExitStack() as stack:
        tools = stack.enter_context(ReleaseTools(ARTIFACTS))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        options = {(release, name): found for release in CLASSES for name, found in script_options(tools, release)}
        with _two(Kafka39) as (theirs, ours):
            clusters = [OldCluster(cluster.bootstrap, cluster.zookeeper) for cluster in (theirs, ours)]
            comparisons = [*compare_old(tools, clusters[0], clusters[1], folder)]
        on_nodes = compare_on_nodes(tools, folder)
        with _two(partial(Kafka44, config=LONG_SESSIONS, cluster_id=RECORDED_CLUSTER_ID)) as (theirs, ours):
            comparisons += compare_new(tools, theirs, ours, folder)
        return OracleRun(options, comparisons, on_nodes)


def compare_on_nodes(tools: ReleaseTools, folder: Path) -> list[Comparison]:
    """Run the cases of releases with ZooKeeper on two clusters of a node."""
    with LocalCluster(nodes=1) as theirs, LocalCluster(nodes=1) as ours:
        clusters = [
            OldCluster(cluster.bootstrap, cluster.zookeeper.hosts, has_records=False) for cluster in (theirs, ours)
        ]
        return [*compare_old(tools, clusters[0], clusters[1], folder)]


@contextmanager
def _two(kind: Callable[[], C]) -> Iterator[tuple[C, C]]:
    """Run two equal clusters, one for Kafka's tools and one for kwire's scripts."""
    theirs, ours = kind(), kind()
    with ExitStack() as stack:
        with ThreadPoolExecutor(2) as threads:
            [*threads.map(stack.enter_context, (theirs, ours))]
        yield theirs, ours


def different(run: OracleRun) -> list[Comparison]:
    """Return the invocations with other lines or another exit code that are not known to differ."""
    return [
        comparison for comparison in run.comparisons if not comparison.is_same and comparison.case.line not in KNOWN
    ] + different_on_nodes(run.on_nodes)


def different_on_nodes(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the same for invocations on kwire's nodes."""
    known = KNOWN | KNOWN_ON_NODES
    return [comparison for comparison in comparisons if not comparison.is_same and comparison.case.line not in known]


def page(run: OracleRun) -> str:
    """Return the page."""
    equal = Counter(
        (comparison.case.release, comparison.case.line.split()[0])
        for comparison in run.comparisons
        if comparison.is_same
    )
    total = Counter((comparison.case.release, comparison.case.line.split()[0]) for comparison in run.comparisons)
    lines = [
        HEAD,
        f"{summary(run)}\n",
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
    by_release = Counter((comparison.case.release, comparison.is_same) for comparison in run.on_nodes)
    counts = (
        f"{by_release[release, True]} of {by_release[release, True] + by_release[release, False]} of {release}"
        for release in OLD_RELEASES
    )
    lines += ["## On kwire's nodes", "", f"Equal are {', '.join(counts)}. These differ:", ""]
    lines += [*_differences(run.on_nodes), ""]
    return "\n".join(lines)


def summary(run: OracleRun) -> str:
    """Return the counts of options and invocations."""
    names = sum(len(option.names) for option in run.options.values())
    refused = sum(len(option.refused) for option in run.options.values())
    idle = sum(len(option.without_effect) for option in run.options.values())
    equal = sum(comparison.is_same for comparison in run.comparisons)
    return (
        f"Of {names} options, {names - refused} are accepted ({(names - refused) / names:.1%}), and {idle} of these "
        f"have no effect. Of {len(run.comparisons)} invocations, {equal} are equal "
        f"({equal / len(run.comparisons):.1%})."
    )


def _listed(options: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in options)


def _differences(comparisons: Iterable[Comparison]) -> Iterable[str]:
    releases: dict[str, list[str]] = {}
    for comparison in comparisons:
        if not comparison.is_same:
            releases.setdefault(comparison.case.line, []).append(comparison.case.release)
    for line, found in releases.items():
        yield f"- `{line}` ({', '.join(found)}): {(KNOWN | KNOWN_ON_NODES).get(line, 'unexpected')}."


if __name__ == "__main__":
    finished = run_oracle()
    PAGE.write_text(page(finished), encoding="utf-8")
    sys.stdout.write(f"{summary(finished)}\n")
