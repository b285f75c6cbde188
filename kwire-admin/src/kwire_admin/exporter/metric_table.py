"""The metrics that `metrics.txt` declares, by exporter whose names they have, and their panels and alerts.

The names follow Prometheus' conventions: base units, `_total` for counters, `_timestamp_seconds` for points in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from kwire_admin.exporter.answers import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Alert", "Metric", "MetricTable", "NameSet", "Panel", "Scope", "metric_table"]


class Scope(Enum):
    """The kind of things that a metric has series for. The value is the names of their labels."""

    CLUSTER = ()
    GROUP = ("group",)
    TOPIC = ("topic",)
    GROUP_TOPIC = ("group", "topic")
    GROUP_PARTITION = ("group", "topic", "partition")
    PARTITION = ("topic", "partition")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric.

    Attributes:
        name: its name.
        scope: the kind of things that it has series for.
        level: 0 for the cluster and its groups, 1 for topics, 2 for partitions, 3 for replicas: the option --level.
        source: the kind of answers that its values come from; None for none.
        labels: names of all its labels.
        has_further_labels: True if labels do not only name the thing: its value is then a pair of their values and a
            number, or for the cluster a sequence of such pairs.
        value: the attribute of a topic or group, or the key of a value of the cluster.
        is_sparse: True if a series exists only while the value is true, with the value 1.
        is_signed: True if -1 is a value; otherwise it stands for an unknown value, and there is no series.
        skips_internal: True if internal topics have no series.
        help: the meaning of its value.
    """

    name: str
    scope: Scope
    level: int
    source: Source | None
    labels: tuple[str, ...]
    has_further_labels: bool
    value: str
    is_sparse: bool
    is_signed: bool
    skips_internal: bool
    help: str

    def header(self, *, openmetrics: bool) -> str:
        """Return the lines HELP and TYPE. OpenMetrics names a counter without `_total`."""
        stem = self.name.removesuffix("_total")
        name = stem if openmetrics else self.name
        return f"# HELP {name} {self.help}\n# TYPE {name} {'gauge' if stem == self.name else 'counter'}\n"


class NameSet(NamedTuple):
    """The metrics with the names of one exporter. `names_cluster`: True if a label names even a single cluster."""

    metrics: tuple[Metric, ...]
    names_cluster: bool


class Panel(NamedTuple):
    """A panel of the dashboard."""

    row: str
    title: str
    unit: str
    legend: str
    query: str


class Alert(NamedTuple):
    """An alert rule."""

    name: str
    duration: str
    severity: str
    condition: str
    summary: str


class MetricTable(NamedTuple):
    """Everything that `metrics.txt` declares. `names`: by value of the option --names."""

    names: Mapping[str, NameSet]
    panels: tuple[Panel, ...]
    alerts: tuple[Alert, ...]


@cache
def metric_table() -> MetricTable:
    """Return the table."""
    names: dict[str, NameSet] = {}
    rows: dict[str, list[list[str]]] = {}
    helps: dict[tuple[str, str], str] = {}
    section = ""
    renamed: dict[str, str] = {}
    for line in (files(__package__) / "metrics.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section, *pairs = line.replace("[", "").replace("]", "").split()
            renamed = dict(pair.split("=") for pair in pairs)
            rows[section] = []
        elif line and not line.startswith("#"):
            columns = line.split(" | ", 4)
            rows[section].append(columns)
            if section not in ("panels", "alerts"):
                metric = _metric(columns, renamed, helps)
                before = names.get(section, NameSet((), section == "kwire"))
                names[section] = before._replace(metrics=(*before.metrics, metric))
    panels = (Panel(*columns)._replace(legend=columns[3].removeprefix("-")) for columns in rows["panels"])
    return MetricTable(names, tuple(panels), tuple(Alert(*columns) for columns in rows["alerts"]))


def _metric(columns: list[str], renamed: Mapping[str, str], helps: dict[tuple[str, str], str]) -> Metric:
    name, scope, further, value, *text = columns
    thing, _, source = scope.partition(":")
    source = source or "metadata"
    # Details of all replicas have the labels of their partition.
    scoped = Scope.PARTITION if thing == "replica" else Scope[thing.replace("-", "_").upper()]
    level = ("topic" in scoped.value) + ("partition" in scoped.value) + (thing == "replica")
    labels = () if further == "-" else tuple(further.split())
    key = value.rstrip("?!~")
    help = helps.setdefault((thing, key), *text) if text else helps.get((thing, key), f"See {name} of that exporter.")
    own = tuple(renamed.get(label, label) for label in scoped.value)
    return Metric(
        name,
        scoped,
        level,
        None if source == "-" else Source(source),
        own + labels,
        bool(labels),
        key,
        value.endswith("?"),
        value.endswith("!"),
        value.endswith("~"),
        help,
    )
