"""The chart of a cluster's history: incidents, unhealthy partitions, leader moves, and latencies on one time axis.

The output is a plotly figure as JSON. Its colors (Okabe and Ito) are distinguishable for color-blind readers,
and outages are hatched too. Lines, text, and background get their colors from the page (`style.css`). Names are
escaped, because plotly interprets some HTML.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kwire_pipeline.report.phrasing import (
    CLUSTER_UNREACHABLE,
    LEADER_AND_REPLICA_MOVES,
    LEADER_MOVE_REASONS,
    TOPIC_CHANGES,
    IncidentGroup,
    format_duration,
    format_time,
    incident_group,
    incident_impact,
    incident_title,
    utc_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_pipeline.report.cluster_history import BrokerHistory, ClusterHistory, ReportedIncident

_Trace: TypeAlias = dict[str, Any]
"""A trace of plotly."""

VERMILION, ORANGE, GREEN, BLUE, SKY, PINK, GRAY = (
    "#D55E00",
    "#E69F00",
    "#009E73",
    "#0072B2",
    "#56B4E9",
    "#CC79A7",
    "#8A8F98",
)
GROUP_COLORS = {
    IncidentGroup.OUTAGE: VERMILION,
    IncidentGroup.RECOVERY: GREEN,
    IncidentGroup.ADMINISTRATION: BLUE,
    IncidentGroup.CONFIGS: PINK,
}
PARTITION_FLAGS = {
    "under_replicated": ("under-replicated", ORANGE),
    "moving": ("being reassigned", SKY),
    "electing": ("electing a leader", PINK),
    "offline": ("without a leader", VERMILION),
}
MOVE_COLORS = {
    "preferred": GREEN,
    "lost": ORANGE,
    "reassigned": SKY,
    "offline": VERMILION,
    "returned": BLUE,
    "other": GRAY,
}
LINE_COLORS = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GRAY)

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif'
NUMBERED_INCIDENTS = 60
"""Incidents up to which the chart shows their numbers; more would overlap."""

BROKER_LANES = 12
BROKER_LINES = 7
OTHER_BROKERS = "more brokers"
OTHER_LANES = ("cluster", "controller", "topics", "moves", "configs")

GAP = 46
"""Pixels between two rows of the chart."""


_LAYOUT = {
    "margin": {"l": 92, "r": 16, "t": 26, "b": 36},
    "barmode": "overlay",
    "hovermode": "closest",
    "showlegend": False,
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": FONT, "size": 12},
    "dragmode": "zoom",
    "modebar": {"bgcolor": "rgba(0,0,0,0)"},
}
_X_AXIS = {"type": "date", "zeroline": False, "hoverformat": "%H:%M:%S"}
_Y_AXIS = {"rangemode": "tozero", "zeroline": False, "fixedrange": True, "automargin": True}
_ROW_TITLE = {
    "xref": "paper",
    "yref": "paper",
    "x": 0,
    "xanchor": "left",
    "yanchor": "bottom",
    "showarrow": False,
    "font": {"size": 13},
}


class _Row(NamedTuple):
    """A row of the chart: its title, height in pixels, traces, and what its y axis has besides `_Y_AXIS`."""

    title: str
    size: int
    traces: list[_Trace]
    y_axis: dict[str, Any]


def chart_json(history: ClusterHistory) -> str:
    """Return the plotly figure of a cluster as JSON that is safe inside a script element."""
    from plotly.graph_objects import Figure

    lanes = _lanes(history)
    lane_axis = {"categoryorder": "array", "categoryarray": lanes[::-1], "range": [-0.6, len(lanes) - 0.4]}
    empty = {"range": [0, 1]}  # plotly's own range would begin below 0
    has_partitions = any(history.partition_counts[flag] for flag in PARTITION_FLAGS)
    rows = [
        _Row("Incidents", GAP + 26 * len(lanes), _incident_traces(history, lanes), lane_axis),
        _Row("Unhealthy partitions", 170, _partition_traces(history), {} if has_partitions else empty),
        _Row("Leader moves", 120, _move_traces(history), {} if history.leader_moves else empty),
    ]
    if any(broker.latency for broker in history.brokers):
        rows.append(_Row("Highest latency, ms", 140, _latency_traces(history), {}))
    # The rows are below one another. All share the time axis of the first one; only the last one shows its ticks.
    height = sum(row.size for row in rows) + GAP * len(rows) + 40
    inner_height = height - 62  # without the margins above and below
    layout: dict[str, Any] = {"height": height, **_LAYOUT, "annotations": []}
    times = [_date(history.began), _date(max(history.ended, history.began + 1_000_000))]
    traces: list[_Trace] = []
    top = 1.0
    for index, row in enumerate(rows, start=1):
        axis = "" if index == 1 else str(index)
        bottom = top - row.size / inner_height
        layout[f"yaxis{axis}"] = {"domain": [max(0.0, bottom), top], "anchor": f"x{axis}", **_Y_AXIS, **row.y_axis}
        layout[f"xaxis{axis}"] = {
            "anchor": f"y{axis}",
            "matches": "x" if axis else None,
            "range": times,
            "showticklabels": index == len(rows),
            **_X_AXIS,
        }
        layout["annotations"].append({"text": f"<b>{row.title}</b>", "y": top, **_ROW_TITLE})
        traces += [trace | {"xaxis": f"x{axis}", "yaxis": f"y{axis}"} for trace in row.traces]
        top = bottom - GAP / inner_height
    return str(Figure(traces, layout).to_json()).replace("<", "\\u003c")


def _lanes(history: ClusterHistory) -> list[str]:
    """Return the lanes of the incidents: one a broker with outages, then the others that are used."""
    used = {_lane(incident) for incident in history.incidents}
    broker_ids = sorted(
        {
            incident.broker
            for incident in history.incidents
            if incident.broker is not None and incident.kind != "controller_moved"
        }
        | {broker.id for broker in history.brokers if broker.unreachable}
    )
    lanes = [f"broker {id}" for id in broker_ids[:BROKER_LANES]]
    if len(broker_ids) > BROKER_LANES:
        lanes.append(OTHER_BROKERS)
    return [*lanes, *(lane for lane in OTHER_LANES if lane in used)] or ["none"]


def _lane(incident: ReportedIncident) -> str:
    """Return the lane of an incident."""
    if incident.kind == CLUSTER_UNREACHABLE:
        return "cluster"
    if incident.kind == "controller_moved":
        return "controller"
    if incident.broker is not None:
        return f"broker {incident.broker}"
    if incident.kind in TOPIC_CHANGES:
        return "topics"
    return "moves" if incident.kind in LEADER_AND_REPLICA_MOVES else "configs"


def _existing_lane(lane: str, lanes: list[str]) -> str:
    return lane if lane in lanes else OTHER_BROKERS


class _Bar(NamedTuple):
    """A time in a lane, in microseconds since 1970, with the text that is shown for it."""

    lane: str
    began: int
    ended: int
    text: str


def _incident_traces(history: ClusterHistory, lanes: list[str]) -> list[_Trace]:
    traces = []
    unreachable = [
        _unreachable_bar(history, lanes, broker.id, *period)
        for broker in history.brokers
        for period in broker.unreachable
    ]
    if unreachable:
        traces.append(_bars(unreachable, "unreachable", GRAY) | {"width": 0.82, "opacity": 0.35})
    for group, color in GROUP_COLORS.items():
        if bars := _incident_bars(history, lanes, group):
            trace = _bars(bars, group.value, color) | {"width": 0.5}
            if group is IncidentGroup.OUTAGE:  # hatched, so that outages differ from recoveries without colors too
                trace["marker"]["pattern"] = {"shape": "/", "size": 6, "solidity": 0.25, "fgcolor": "#ffffff"}
            traces.append(trace)
    if len(history.incidents) <= NUMBERED_INCIDENTS:
        traces += [_number_trace(history, lanes, after=False), _number_trace(history, lanes, after=True)]
    return traces


def _unreachable_bar(history: ClusterHistory, lanes: list[str], broker: int, began: int, last_end: int | None) -> _Bar:
    ended = history.ended if last_end is None else last_end
    text = f"broker {broker} did not answer for {format_duration(ended - began)}"
    return _Bar(_existing_lane(f"broker {broker}", lanes), began, ended, text)


def _incident_bars(history: ClusterHistory, lanes: list[str], group: IncidentGroup) -> list[_Bar]:
    bars = []
    for number, incident in enumerate(history.incidents, start=1):
        if incident_group(incident) is group:
            ended = history.ended if incident.ended is None else incident.ended
            duration = "ongoing" if incident.ended is None else format_duration(ended - incident.began)
            title, impact = escape(incident_title(incident)), escape(incident_impact(incident))
            text = f"<b>{number}. {title}</b><br>{format_time(incident.began)}, {duration}<br>{impact}"
            bars.append(_Bar(_existing_lane(_lane(incident), lanes), incident.began, ended, text))
    return bars


def _number_trace(history: ClusterHistory, lanes: list[str], *, after: bool) -> _Trace:
    """Return the numbers of incidents: to the right of a recovery (`after`), to the left of any other incident."""
    numbered = [
        (number, incident)
        for number, incident in enumerate(history.incidents, start=1)
        if (incident_group(incident) is IncidentGroup.RECOVERY) == after and not (after and incident.ended is None)
    ]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [_date((incident.ended if after else None) or incident.began) for _, incident in numbered],
        "y": [_existing_lane(_lane(incident), lanes) for _, incident in numbered],
        "text": [f" {number}" if after else f"{number} " for number, _ in numbered],
        "textposition": "middle right" if after else "middle left",
        "textfont": {"size": 11},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _bars(bars: list[_Bar], name: str, color: str) -> _Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "y": [bar.lane for bar in bars],
        "x": [(bar.ended - bar.began) / 1e3 for bar in bars],
        "base": [_date(bar.began) for bar in bars],
        "hovertext": [bar.text for bar in bars],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "name": name,
        "marker": _marker(color),
    }


def _marker(color: str) -> dict[str, Any]:
    return {"color": color, "line": {"color": color, "width": 2}}


def _lines(points: Iterable[tuple[int, float | None]], name: str, line: dict[str, Any], text: str) -> _Trace:
    xs, ys = zip(*((_date(at), value) for at, value in points), strict=True)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(xs),
        "y": list(ys),
        "name": name,
        "line": line,
        "hovertemplate": text + "<br>%{x|%H:%M:%S}<extra></extra>",
    }


def _partition_traces(history: ClusterHistory) -> list[_Trace]:
    traces = []
    for flag, (name, color) in PARTITION_FLAGS.items():
        if steps := history.partition_counts[flag]:
            points = [(history.began, 0), *steps, (history.ended, steps[-1][1])]
            is_expected = flag == "moving"  # operators reassign partitions on purpose: dotted, and not filled
            line = {"shape": "hv", "width": 2, "color": color, "dash": "dot" if is_expected else "solid"}
            trace = _lines(points, name, line, "%{y:,} partitions " + name)
            traces.append(trace | {"fill": "none" if is_expected else "tozeroy"})
    return traces


def _move_traces(history: ClusterHistory) -> list[_Trace]:
    """Return stacked bars. They begin where the bars below end, because `barmode` of the whole chart is `overlay`."""
    traces = []
    below: defaultdict[int, int] = defaultdict(int)
    for reason, color in MOVE_COLORS.items():
        if points := history.leader_moves_over_time.get(reason, []):
            name, counts = LEADER_MOVE_REASONS[reason], [count for _, count in points]
            traces.append(
                {
                    "type": "bar",
                    "x": [_date(at + history.bucket // 2) for at, _ in points],
                    "y": counts,
                    "base": [below[at] for at, _ in points],
                    "width": history.bucket / 1e3,
                    "name": name,
                    "marker": _marker(color),
                    "hovertemplate": "%{customdata:,} leaders moved: " + name + "<br>%{x|%H:%M:%S}<extra></extra>",
                    "customdata": counts,
                }
            )
            for at, count in points:
                below[at] += count
    return traces


def _latency_traces(history: ClusterHistory) -> list[_Trace]:
    traces = []
    for broker, color in zip(_slowest_brokers(history), LINE_COLORS, strict=False):
        # A point without a value interrupts the line where the broker did not answer.
        gaps: list[tuple[int, float | None]] = [(began, None) for began, _ in broker.unreachable]
        until = broker.latency[-1][0]
        points = [*(gap for gap in gaps if gap[0] < until), *((at, round(ms, 2)) for at, ms in broker.latency)]
        points.sort(key=lambda point: (point[0], point[1] is None))
        line = {"width": 1.5, "color": color}
        text = f"broker {broker.id}: " + "%{y:.1f} ms"
        traces.append(_lines(points, f"broker {broker.id}", line, text) | {"connectgaps": False})
    return traces


def _slowest_brokers(history: ClusterHistory) -> list[BrokerHistory]:
    """Return the brokers with the highest latencies, by id."""
    slowest = sorted((broker for broker in history.brokers if broker.latency), key=lambda broker: -(broker.max_ms or 0))
    return sorted(slowest[:BROKER_LINES], key=lambda broker: broker.id)


def _date(micros: int) -> str:
    return utc_time(micros).strftime("%Y-%m-%d %H:%M:%S.%f")


def legends(history: ClusterHistory) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the names and colors that occur in each row of the chart."""
    groups = {incident_group(incident) for incident in history.incidents}
    incidents = [(group.value, color) for group, color in GROUP_COLORS.items() if group in groups]
    if any(broker.unreachable for broker in history.brokers):
        incidents.append(("unreachable", GRAY))
    moves = [
        (LEADER_MOVE_REASONS[reason], color) for reason, color in MOVE_COLORS.items() if reason in history.leader_moves
    ]
    return [
        ("Incidents", incidents),
        ("Partitions", [PARTITION_FLAGS[flag] for flag in PARTITION_FLAGS if history.partition_counts[flag]]),
        ("Leader moves", moves),
        (
            "Latencies",
            [
                (f"broker {broker.id}", color)
                for broker, color in zip(_slowest_brokers(history), LINE_COLORS, strict=False)
            ],
        ),
    ]
