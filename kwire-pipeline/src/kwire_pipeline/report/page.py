"""The HTML page: one file with everything in it, rendered from `templates/`.

* Autoescape is on, so names and values of a cluster cannot become HTML. Only our own files, plotly's script, and the
  chart's JSON are marked as safe.
* Everything an operator needs is in the HTML itself; only the chart needs scripts.
* The page's content security policy forbids loading anything.
* Long lists are cut, and the page says how much is left out.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kwire import __version__
from kwire_pipeline.report.chart import GROUP_COLORS, PARTITION_FLAGS, chart_json, legends
from kwire_pipeline.report.phrasing import (
    LEADER_MOVE_REASONS,
    IncidentGroup,
    format_date,
    format_duration,
    format_millis,
    format_number,
    format_percent,
    format_time,
    incident_group,
    incident_impact,
    incident_title,
    pluralize,
    utc_time,
)
from kwire_pipeline.report.stories import Story, latest_stories, stories
from kwire_pipeline.report.summary import SummaryLevel, summarize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_pipeline.report.cluster_history import BrokerHistory, ClusterHistory
    from kwire_pipeline.report.summary import ClusterSummary

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
MARKS = {SummaryLevel.OK: "\u2714", SummaryLevel.WARNING: "\u25b2", SummaryLevel.CRITICAL: "\u2716"}

CLUSTERS_SHOWN = 10
INCIDENTS_SHOWN = 50
BROKERS_SHOWN = 30
STORIES_SHOWN = 5_000
LIMITS = SimpleNamespace(rows=12, names=3, text=200)
"""Rows of other tables, names in a cell, and characters of a config's value."""


class Tile(NamedTuple):
    """A number with its name; `is_bad` highlights it."""

    value: str
    name: str
    detail: str = ""
    is_bad: bool = False


class ShownIncident(NamedTuple):
    """A row of the table of incidents; `duration` is None while the incident lasts."""

    number: int
    began: int
    duration: int | None
    color: str
    title: str
    evidence: str
    impact: str
    topics: tuple[str, ...]
    hidden_topics: int


class ShownCluster(NamedTuple):
    """Everything that the template shows about a cluster; `chart` is empty where there is nothing to draw."""

    history: ClusterHistory
    summary: ClusterSummary
    period: str
    tiles: list[Tile]
    chart: Markup
    legends: list[tuple[str, list[tuple[str, str]]]]
    incidents: list[ShownIncident]
    unhealthy_partitions: int
    brokers: list[BrokerHistory]
    most_leaders: float
    leaders_fair: float
    stories: list[Story]
    hidden_stories: int
    now: str


def render_page(histories: Sequence[ClusterHistory]) -> str:
    """Render the page of these clusters."""
    clusters = [_shown_cluster(history) for history in histories[:CLUSTERS_SHOWN]]
    title = clusters[0].history.cluster_id if len(clusters) == 1 else pluralize(len(histories), "cluster")
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            title=title,
            clusters=clusters,
            hidden_clusters=len(histories) - len(clusters),
            scripts=_scripts() if any(cluster.chart or cluster.stories for cluster in clusters) else [],
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kwire_pipeline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., str | int]] = {
        "number": format_number,
        "time": format_time,
        "duration": format_duration,
        "millis": format_millis,
        "pluralize": pluralize,
        "unreachable_time": _unreachable_time,
    }
    environment.filters.update(filters)
    environment.globals.update(
        policy=Markup(POLICY),  # noqa: S704  # a constant
        style=Markup(_file(environment, "style.css")),  # noqa: S704  # a file of this package
        marks=MARKS,
        limits=LIMITS,
        flags={flag: name for flag, (name, _) in PARTITION_FLAGS.items()},
        reasons=LEADER_MOVE_REASONS,
        version=__version__,
    )
    return environment


def _scripts() -> list[Markup]:
    """Return plotly and the page's own script."""
    from plotly.offline import get_plotlyjs

    return [Markup(get_plotlyjs()), Markup(_file(_environment(), "page.js"))]  # noqa: S704  # no text of a cluster


def _file(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _shown_cluster(history: ClusterHistory) -> ShownCluster:
    began, ended = utc_time(history.began), utc_time(history.ended)
    same_day = format_date(history.began) == format_date(history.ended)
    age = "" if history.age is None else f", {format_duration(history.age)} before this page was written"
    all_stories = stories(history)
    has_chart = bool(history.partitions or history.incidents)
    return ShownCluster(
        history,
        summarize(history),
        f"{began:%Y-%m-%d %H:%M:%S} to {ended:{'%H:%M:%S' if same_day else '%Y-%m-%d %H:%M:%S'}}{age}",
        _tiles(history),
        Markup(chart_json(history) if has_chart else ""),  # noqa: S704  # chart_json escapes for scripts
        legends(history),
        _shown_incidents(history),
        max(history.now["offline"] + history.now["under_replicated"], len(history.unhealthy)),
        sorted(
            sorted(history.brokers, key=lambda broker: -_priority(broker))[:BROKERS_SHOWN], key=lambda broker: broker.id
        ),
        max((max(broker.leaders, broker.leaders_fair) for broker in history.brokers), default=0) or 1,
        next((broker.leaders_fair for broker in history.brokers if broker.leaders_fair), 0),
        latest_stories(all_stories, STORIES_SHOWN),
        max(0, len(all_stories) - STORIES_SHOWN),
        "now" if history.unreachable_since is None else "before",
    )


def _tiles(history: ClusterHistory) -> list[Tile]:
    polled = sum(1 for broker in history.brokers if broker.polls)
    answering = sum(1 for broker in history.brokers if broker.polls and broker.unreachable_since is None)
    offline, under_replicated = history.now["offline"], history.now["under_replicated"]
    if history.unreachable_since is not None:
        outages = sum(1 for incident in history.incidents if incident_group(incident) is IncidentGroup.OUTAGE)
        return [
            Tile(f"0 of {polled}" if polled else "0", "brokers answer", is_bad=True),
            Tile("unknown", "partitions without a leader", f"{format_number(offline)} before", is_bad=True),
            Tile("unknown", "partitions under-replicated", f"{format_number(under_replicated)} before"),
            Tile(format_number(history.partitions), f"partitions of {pluralize(history.topics, 'topic')}", "before"),
            Tile(format_number(outages), "outages"),
        ]
    preferred = history.partitions - history.now["not_preferred"]
    outages = sum(1 for incident in history.incidents if incident_group(incident) is IncidentGroup.OUTAGE)
    ongoing = sum(1 for incident in history.incidents if incident.ended is None)
    return [
        Tile(f"{answering} of {polled}", "brokers answer", is_bad=answering < polled),
        Tile(format_number(offline), "partitions without a leader", _peak(history, "offline"), bool(offline)),
        Tile(
            format_number(under_replicated),
            "partitions under-replicated",
            _peak(history, "under_replicated"),
            bool(under_replicated),
        ),
        Tile(format_number(history.partitions), f"partitions of {pluralize(history.topics, 'topic')}"),
        Tile(format_percent(preferred, history.partitions), "led by their preferred replica"),
        Tile(format_number(outages), "outages", f"{pluralize(len(history.incidents), 'incident')}, {ongoing} ongoing"),
    ]


def _peak(history: ClusterHistory, flag: str) -> str:
    peak = max((count for _, count in history.partition_counts.get(flag, ())), default=0)
    return f"at most {format_number(peak)}" if peak else "never"


def _shown_incidents(history: ClusterHistory) -> list[ShownIncident]:
    """Return the last incidents, and earlier ones that are ongoing."""
    numbered = list(enumerate(history.incidents, start=1))
    numbers = {incident.id: number for number, incident in numbered}
    earlier = [entry for entry in numbered[:-INCIDENTS_SHOWN] if entry[1].ended is None][:INCIDENTS_SHOWN]
    shown = []
    for number, incident in earlier + numbered[-INCIDENTS_SHOWN:]:
        several = incident.topic_count > 1
        shown.append(
            ShownIncident(
                number,
                incident.began,
                None if incident.ended is None else incident.ended - incident.began,
                GROUP_COLORS[incident_group(incident)],
                incident_title(incident),
                incident.cause
                + (f"; caused by {numbers[incident.caused_by]}" if incident.caused_by in numbers else ""),
                incident_impact(incident),
                incident.topics[: LIMITS.names] if several else (),
                incident.topic_count - LIMITS.names,
            )
        )
    return shown


def _priority(broker: BrokerHistory) -> float:
    """Rank brokers: unreachable ones first, then those furthest from their fair share of leaders."""
    away = abs(broker.leaders - broker.leaders_fair) / broker.leaders_fair if broker.leaders_fair else 0.0
    return away + (1000 if broker.unreachable_since is not None else 0)


def _unreachable_time(broker: BrokerHistory, history: ClusterHistory) -> int:
    """Return the total time in microseconds that a broker did not answer."""
    return sum((history.ended if ended is None else ended) - began for began, ended in broker.unreachable)
