"""The chart of a cluster's history: incidents, unhealthy partitions, leader moves, and latencies on one time axis.

The output is a plotly figure as JSON. Its colors (Okabe and Ito) are distinguishable for color-blind readers,
and outages are hatched too. Lines, text, and background get their colors from the page (`style.css`). Names are
escaped, because plotly interprets some HTML.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any

from kwire.report.phrasing import (
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
    from kwire.report.cluster_history import BrokerHistory, ClusterHistory, ReportedIncident

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


def chart_json(history: ClusterHistory) -> str:
    """Return the plotly figure of a cluster as JSON that is safe inside a script element."""
    from plotly.graph_objects import Figure

    lanes = _lanes(history)
    rows = [
        ("Incidents", GAP + 26 * len(lanes), _incident_traces(history, lanes)),
        ("Unhealthy partitions", 170, _partition_traces(history)),
        ("Leader moves", 120, _move_traces(history)),
    ]
    if any(broker.latency for broker in history.brokers):
        rows.append(("Highest latency, ms", 140, _latency_traces(history)))
    height = sum(size for _, size, _ in rows) + GAP * len(rows) + 40
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 92, "r": 16, "t": 26, "b": 36},
        "barmode": "overlay",
        "hovermode": "closest",
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12},
        "dragmode": "zoom",
        "modebar": {"bgcolor": "rgba(0,0,0,0)"},
        "annotations": [],
    }
    inner = height - 62
    top = 1.0
    traces: list[dict[str, Any]] = []
    for index, (name, size, row_traces) in enumerate(rows, start=1):
        suffix = "" if index == 1 else str(index)
        bottom = top - size / inner
        layout[f"yaxis{suffix}"] = _y_axis(suffix, bottom, top)
        layout[f"xaxis{suffix}"] = _x_axis(suffix, history, show_ticks=index == len(rows))
        layout["annotations"].append(_row_title(name, top))
        traces += [trace | {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"} for trace in row_traces]
        top = bottom - GAP / inner
    layout["yaxis"] |= {"categoryorder": "array", "categoryarray": lanes[::-1], "range": [-0.6, len(lanes) - 0.4]}
    if not any(history.partition_counts[flag] for flag in PARTITION_FLAGS):
        layout["yaxis2"]["range"] = [0, 1]
    if not history.leader_moves:
        layout["yaxis3"]["range"] = [0, 1]
    figure = Figure(traces, layout)
    return str(figure.to_json()).replace("<", "\\u003c")


def _y_axis(suffix: str, bottom: float, top: float) -> dict[str, Any]:
    return {
        "domain": [max(0.0, bottom), top],
        "rangemode": "tozero",
        "zeroline": False,
        "fixedrange": True,
        "anchor": f"x{suffix}",
        "automargin": True,
    }


def _x_axis(suffix: str, history: ClusterHistory, *, show_ticks: bool) -> dict[str, Any]:
    return {
        "type": "date",
        "matches": "x" if suffix else None,
        "anchor": f"y{suffix}",
        "range": [_date(history.began), _date(max(history.ended, history.began + 1_000_000))],
        "showticklabels": show_ticks,
        "zeroline": False,
        "hoverformat": "%H:%M:%S",
    }


def _row_title(name: str, top: float) -> dict[str, Any]:
    return {
        "text": f"<b>{name}</b>",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 13},
    }


def _lanes(history: ClusterHistory) -> list[str]:
    """Return the lanes of the incidents: one a broker with outages, then the others that are used."""
    used = {_lane(each) for each in history.incidents}
    broker_ids = sorted(
        {each.broker for each in history.incidents if each.broker is not None and each.kind != "controller_moved"}
        | {each.id for each in history.brokers if each.unreachable}
    )
    lanes = [f"broker {each}" for each in broker_ids[:BROKER_LANES]]
    if len(broker_ids) > BROKER_LANES:
        lanes.append(OTHER_BROKERS)
    return [*lanes, *(each for each in OTHER_LANES if each in used)] or ["none"]


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


def _incident_traces(history: ClusterHistory, lanes: list[str]) -> list[dict[str, Any]]:
    traces = []
    unreachable: dict[str, list[Any]] = {"y": [], "base": [], "x": [], "text": []}
    for broker in history.brokers:
        for began, last_end in broker.unreachable:
            ended = history.ended if last_end is None else last_end
            unreachable["y"].append(_existing_lane(f"broker {broker.id}", lanes))
            unreachable["base"].append(_date(began))
            unreachable["x"].append((ended - began) / 1e3)
            unreachable["text"].append(f"broker {broker.id} did not answer for {format_duration(ended - began)}")
    if unreachable["y"]:
        traces.append(_bars(unreachable, "unreachable", GRAY) | {"width": 0.82, "opacity": 0.35})
    for group, color in GROUP_COLORS.items():
        bars = _incident_bars(history, lanes, group)
        if bars["y"]:
            trace = _bars(bars, group.value, color) | {"width": 0.5}
            if group is IncidentGroup.OUTAGE:
                trace["marker"]["pattern"] = {"shape": "/", "size": 6, "solidity": 0.25, "fgcolor": "#ffffff"}
            traces.append(trace)
    if len(history.incidents) <= NUMBERED_INCIDENTS:
        traces += [_number_trace(history, lanes, after=False), _number_trace(history, lanes, after=True)]
    return traces


def _incident_bars(history: ClusterHistory, lanes: list[str], group: IncidentGroup) -> dict[str, list[Any]]:
    bars: dict[str, list[Any]] = {"y": [], "base": [], "x": [], "text": []}
    for number, each in enumerate(history.incidents, start=1):
        if incident_group(each) is not group:
            continue
        ended = history.ended if each.ended is None else each.ended
        bars["y"].append(_existing_lane(_lane(each), lanes))
        bars["base"].append(_date(each.began))
        bars["x"].append((ended - each.began) / 1e3)
        duration = "ongoing" if each.ended is None else format_duration(ended - each.began)
        title, impact = escape(incident_title(each)), escape(incident_impact(each))
        bars["text"].append(f"<b>{number}. {title}</b><br>{format_time(each.began)}, {duration}<br>{impact}")
    return bars


def _number_trace(history: ClusterHistory, lanes: list[str], *, after: bool) -> dict[str, Any]:
    """Return the numbers of incidents: to the right of a recovery (`after`), to the left of any other incident."""
    numbered = [
        (number, each)
        for number, each in enumerate(history.incidents, start=1)
        if (incident_group(each) is IncidentGroup.RECOVERY) == after and not (after and each.ended is None)
    ]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [_date((each.ended if after else None) or each.began) for _, each in numbered],
        "y": [_existing_lane(_lane(each), lanes) for _, each in numbered],
        "text": [f"{number} " if not after else f" {number}" for number, _ in numbered],
        "textposition": "middle right" if after else "middle left",
        "textfont": {"size": 11},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _bars(bars: dict[str, list[Any]], name: str, color: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "y": bars["y"],
        "x": bars["x"],
        "base": bars["base"],
        "hovertext": bars["text"],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "name": name,
        "marker": {"color": color, "line": {"color": color, "width": 2}},
    }


def _partition_traces(history: ClusterHistory) -> list[dict[str, Any]]:
    traces = []
    for flag, (name, color) in PARTITION_FLAGS.items():
        steps = history.partition_counts[flag]
        if not steps:
            continue
        points = [(history.began, 0), *steps, (history.ended, steps[-1][1])]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [_date(at) for at, _ in points],
                "y": [count for _, count in points],
                "name": name,
                "line": {"shape": "hv", "width": 2, "color": color, "dash": "dot" if flag == "moving" else "solid"},
                "fill": "none" if flag == "moving" else "tozeroy",
                "hovertemplate": "%{y:,} partitions " + name + "<br>%{x|%H:%M:%S}<extra></extra>",
            }
        )
    return traces


def _move_traces(history: ClusterHistory) -> list[dict[str, Any]]:
    traces = []
    below: defaultdict[int, int] = defaultdict(int)
    for reason, color in MOVE_COLORS.items():
        points = history.leader_moves_over_time.get(reason, [])
        if points:
            traces.append(
                {
                    "type": "bar",
                    "x": [_date(at + history.bucket // 2) for at, _ in points],
                    "y": [count for _, count in points],
                    "base": [below[at] for at, _ in points],
                    "width": history.bucket / 1e3,
                    "name": LEADER_MOVE_REASONS[reason],
                    "marker": {"color": color, "line": {"color": color, "width": 2}},
                    "hovertemplate": "%{customdata:,} leaders moved: "
                    + LEADER_MOVE_REASONS[reason]
                    + "<br>%{x|%H:%M:%S}<extra></extra>",
                    "customdata": [count for _, count in points],
                }
            )
            for at, count in points:
                below[at] += count
    return traces


def _latency_traces(history: ClusterHistory) -> list[dict[str, Any]]:
    traces = []
    for broker, color in zip(_slowest_brokers(history), LINE_COLORS, strict=False):
        xs: list[str | None] = []
        ys: list[float | None] = []
        gaps = iter([*broker.unreachable, (None, None)])
        gap = next(gaps)
        for at, ms in broker.latency:
            while gap[0] is not None and gap[0] < at:
                xs.append(_date(gap[0]))
                ys.append(None)  # interrupt the line where the broker did not answer
                gap = next(gaps)
            xs.append(_date(at))
            ys.append(round(ms, 2))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": xs,
                "y": ys,
                "connectgaps": False,
                "name": f"broker {broker.id}",
                "line": {"width": 1.5, "color": color},
                "hovertemplate": f"broker {broker.id}: " + "%{y:.1f} ms<br>%{x|%H:%M:%S}<extra></extra>",
            }
        )
    return traces


def _slowest_brokers(history: ClusterHistory) -> list[BrokerHistory]:
    """Return the brokers with the highest latencies, by id."""
    slowest = sorted((each for each in history.brokers if each.latency), key=lambda each: -(each.max_ms or 0))
    return sorted(slowest[:BROKER_LINES], key=lambda each: each.id)


def _date(micros: int) -> str:
    return utc_time(micros).strftime("%Y-%m-%d %H:%M:%S.%f")


def legends(history: ClusterHistory) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the names and colors that occur in each row of the chart."""
    groups = {incident_group(each) for each in history.incidents}
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
            [(f"broker {each.id}", color) for each, color in zip(_slowest_brokers(history), LINE_COLORS, strict=False)],
        ),
    ]
