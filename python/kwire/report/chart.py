"""The picture of a cluster's time: incidents, partitions in trouble, leader moves, and answers of brokers, one above
the other on one axis, so that what belongs together stands together.

Rules of this file: data for plotly, which draws it. Colours are those of Okabe and Ito, that colour-blind people can
tell apart, and outages are hatched too. Lines, letters and grounds get their colours from the page (`style.css`).
Texts are escaped: plotly reads some HTML.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any

from kwire.report.phrasing import REASONS, clock, group, impact, lane, lasting, moment, title

if TYPE_CHECKING:
    from kwire.report.cluster_history import ClusterStory

VERMILION, ORANGE, GREEN, BLUE, SKY, PINK, GREY = (
    "#D55E00",
    "#E69F00",
    "#009E73",
    "#0072B2",
    "#56B4E9",
    "#CC79A7",
    "#8A8F98",
)
GROUPS = {
    "outage": ("outage", VERMILION),
    "return": ("back again", GREEN),
    "work": ("work on topics and leaders", BLUE),
    "setting": ("settings", PINK),
}
FLAGS = {
    "under_replicated": ("lacking a replica", ORANGE),
    "moving": ("being moved", SKY),
    "electing": ("electing a leader", PINK),
    "offline": ("without a leader", VERMILION),
}
MOVES = {"preferred": GREEN, "lost": ORANGE, "reassigned": SKY, "offline": VERMILION, "returned": BLUE, "other": GREY}
LINES = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GREY)

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif'
NUMBERED = 60
"""Above so many incidents their numbers would hide one another."""

BROKER_LANES = 12
BROKER_LINES = 7
OTHER_LANES = ("controller", "topics", "moves", "settings")


def chart(story: ClusterStory) -> str:
    """A plotly figure as JSON, fit to stand in a script of a page."""
    from plotly.graph_objects import Figure

    lanes = _lanes(story)
    has_latency = any(broker.latency for broker in story.brokers)
    rows = [
        ("Incidents", 46 + 26 * len(lanes), _incidents(story, lanes)),
        ("Partitions in trouble", 170, _health(story)),
        ("Leader moves", 120, _moves(story)),
    ]
    if has_latency:
        rows.append(("Longest answer, ms", 140, _latency(story)))
    gap = 46
    height = sum(size for _, size, _ in rows) + gap * len(rows) + 40
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
    for index, (name, size, drawn) in enumerate(rows, start=1):
        nth = "" if index == 1 else str(index)
        bottom = top - size / inner
        layout[f"yaxis{nth}"] = {
            "domain": [max(0.0, bottom), top],
            "rangemode": "tozero",
            "zeroline": False,
            "fixedrange": True,
            "anchor": f"x{nth}",
            "automargin": True,
        }
        layout[f"xaxis{nth}"] = {
            "type": "date",
            "matches": None if index == 1 else "x",
            "anchor": f"y{nth}",
            "range": [_date(story.began), _date(max(story.ended, story.began + 1_000_000))],
            "showticklabels": index == len(rows),
            "zeroline": False,
            "hoverformat": "%H:%M:%S",
        }
        layout["annotations"].append(
            {
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
        )
        traces += [trace | {"xaxis": f"x{nth}", "yaxis": f"y{nth}"} for trace in drawn]
        top = bottom - gap / inner
    layout["yaxis"] |= {"categoryorder": "array", "categoryarray": lanes[::-1], "range": [-0.6, len(lanes) - 0.4]}
    if not any(story.health[flag] for flag in FLAGS):
        layout["yaxis2"]["range"] = [0, 1]
    if not story.moves:
        layout["yaxis3"]["range"] = [0, 1]
    figure = Figure(traces, layout)
    return str(figure.to_json()).replace("<", "\\u003c")


def _lanes(story: ClusterStory) -> list[str]:
    used = {lane(each) for each in story.incidents}
    outages = sorted(
        {each.broker for each in story.incidents if each.broker is not None and each.kind != "controller_moved"}
        | {each.id for each in story.brokers if each.silences}
    )
    brokers = [f"broker {each}" for each in outages[:BROKER_LANES]]
    if len(outages) > BROKER_LANES:
        brokers.append("more brokers")
    return [*brokers, *(each for each in OTHER_LANES if each in used)] or ["none"]


def _incidents(story: ClusterStory, lanes: list[str]) -> list[dict[str, Any]]:
    traces = []
    silent: dict[str, list[Any]] = {"y": [], "base": [], "x": [], "text": []}
    for broker in story.brokers:
        for began, ended in broker.silences:
            over = story.ended if ended is None else ended
            silent["y"].append(_in(f"broker {broker.id}", lanes))
            silent["base"].append(_date(began))
            silent["x"].append((over - began) / 1e3)
            silent["text"].append(f"broker {broker.id} did not answer for {lasting(over - began)}")
    if silent["y"]:
        traces.append(
            _bars(silent, "no answer", GREY)
            | {"width": 0.82, "opacity": 0.35, "hovertemplate": "%{hovertext}<extra></extra>"}
        )
    for key, (name, colour) in GROUPS.items():
        bars: dict[str, list[Any]] = {"y": [], "base": [], "x": [], "text": []}
        for number, each in enumerate(story.incidents, start=1):
            if group(each) != key:
                continue
            over = story.ended if each.ended is None else each.ended
            bars["y"].append(_in(lane(each), lanes))
            bars["base"].append(_date(each.began))
            bars["x"].append((over - each.began) / 1e3)
            lasted = "still going on" if each.ended is None else f"{lasting(over - each.began)}"
            bars["text"].append(
                f"<b>{number}. {escape(title(each))}</b><br>{clock(each.began)}, {lasted}<br>{escape(impact(each))}"
            )
        if bars["y"]:
            trace = _bars(bars, name, colour) | {"width": 0.5}
            if key == "outage":
                trace["marker"]["pattern"] = {"shape": "/", "size": 6, "solidity": 0.25, "fgcolor": "#ffffff"}
            traces.append(trace)
    if len(story.incidents) <= NUMBERED:
        traces += [_numbers(story, lanes, after=False), _numbers(story, lanes, after=True)]
    return traces


def _numbers(story: ClusterStory, lanes: list[str], *, after: bool) -> dict[str, Any]:
    """The numbers that incidents have in the table: before their beginning, or after the end of a return."""
    numbered = [
        (number, each)
        for number, each in enumerate(story.incidents, start=1)
        if (group(each) == "return") == after and not (after and each.ended is None)
    ]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [_date((each.ended if after else None) or each.began) for _, each in numbered],
        "y": [_in(lane(each), lanes) for _, each in numbered],
        "text": [f"{number} " if not after else f" {number}" for number, _ in numbered],
        "textposition": "middle right" if after else "middle left",
        "textfont": {"size": 11},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _bars(bars: dict[str, list[Any]], name: str, colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "y": bars["y"],
        "x": bars["x"],
        "base": bars["base"],
        "hovertext": bars["text"],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "name": name,
        "marker": {"color": colour, "line": {"color": colour, "width": 2}},
    }


def _in(wanted: str, lanes: list[str]) -> str:
    return wanted if wanted in lanes else "more brokers"


def _health(story: ClusterStory) -> list[dict[str, Any]]:
    traces = []
    for flag, (name, colour) in FLAGS.items():
        steps = story.health[flag]
        if not steps:
            continue
        points = [(story.began, 0), *steps, (story.ended, steps[-1][1])]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [_date(at) for at, _ in points],
                "y": [count for _, count in points],
                "name": name,
                "line": {"shape": "hv", "width": 2, "color": colour, "dash": "dot" if flag == "moving" else "solid"},
                "fill": "none" if flag == "moving" else "tozeroy",
                "hovertemplate": "%{y:,} partitions " + name + "<br>%{x|%H:%M:%S}<extra></extra>",
            }
        )
    return traces


def _moves(story: ClusterStory) -> list[dict[str, Any]]:
    traces = []
    below: defaultdict[int, int] = defaultdict(int)
    for reason, colour in MOVES.items():
        points = story.move_times.get(reason, [])
        if points:
            traces.append(
                {
                    "type": "bar",
                    "x": [_date(at + story.bucket // 2) for at, _ in points],
                    "y": [count for _, count in points],
                    "base": [below[at] for at, _ in points],
                    "width": story.bucket / 1e3,
                    "name": REASONS[reason],
                    "marker": {"color": colour, "line": {"color": colour, "width": 2}},
                    "hovertemplate": "%{customdata:,} leaders moved: "
                    + REASONS[reason]
                    + "<br>%{x|%H:%M:%S}<extra></extra>",
                    "customdata": [count for _, count in points],
                }
            )
            for at, count in points:
                below[at] += count
    return traces


def _latency(story: ClusterStory) -> list[dict[str, Any]]:
    slowest = sorted((each for each in story.brokers if each.latency), key=lambda each: -(each.worst_ms or 0))
    traces = []
    for broker, colour in zip(sorted(slowest[:BROKER_LINES], key=lambda each: each.id), LINES, strict=False):
        xs: list[str | None] = []
        ys: list[float | None] = []
        gaps = iter([*broker.silences, (None, None)])
        gap = next(gaps)
        for at, ms in broker.latency:
            while gap[0] is not None and gap[0] < at:
                xs.append(_date(gap[0]))
                ys.append(None)  # a line over a silence would tell of answers that were none
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
                "line": {"width": 1.5, "color": colour},
                "hovertemplate": f"broker {broker.id}: " + "%{y:.1f} ms<br>%{x|%H:%M:%S}<extra></extra>",
            }
        )
    return traces


def _date(micros: int) -> str:
    return moment(micros).strftime("%Y-%m-%d %H:%M:%S.%f")


def legends(story: ClusterStory) -> list[tuple[str, list[tuple[str, str]]]]:
    """By part of the picture, its names and colours: those that occur."""
    groups = {group(each) for each in story.incidents}
    first = [(name, colour) for key, (name, colour) in GROUPS.items() if key in groups]
    if any(broker.silences for broker in story.brokers):
        first.append(("no answer to polls", GREY))
    slowest = sorted((each for each in story.brokers if each.latency), key=lambda each: -(each.worst_ms or 0))
    shown = sorted(slowest[:BROKER_LINES], key=lambda each: each.id)
    return [
        ("Incidents", first),
        ("Partitions", [FLAGS[flag] for flag in FLAGS if story.health[flag]]),
        ("Leader moves", [(REASONS[reason], colour) for reason, colour in MOVES.items() if reason in story.moves]),
        ("Answers", [(f"broker {each.id}", colour) for each, colour in zip(shown, LINES, strict=False)]),
    ]
