"""The page: one HTML file with everything in it.

Rules of this file: whatever comes from a cluster is escaped on its way into the page. What an operator needs stands in
the HTML itself; only the picture needs the script. The page may load nothing: its own policy forbids it to. Long lists
are cut, and say how much is left out.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from kwire import __version__
from kwire.report.chart import GROUPS, chart, legends
from kwire.report.phrasing import (
    REASONS,
    clock,
    counted,
    day,
    group,
    impact,
    lasting,
    millis,
    moment,
    number,
    percent,
    title,
)
from kwire.report.summary import verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.report.cluster_history import BrokerStory, ClusterStory

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
MARKS = {"well": "&#10004;", "watch": "&#9650;", "trouble": "&#10006;"}
MEANS = {"well": "well", "watch": "worth watching", "trouble": "trouble"}

CLUSTERS_SHOWN = 10
INCIDENTS_SHOWN = 50
BROKERS_SHOWN = 30
ROWS_SHOWN = 12
NAMES_SHOWN = 3
TEXT_SHOWN = 200
"""Characters of a value that somebody has set."""


def page(stories: Sequence[ClusterStory]) -> str:
    """The whole file."""
    shown = stories[:CLUSTERS_SHOWN]
    rest = len(stories) - len(shown)
    body = "\n".join(_cluster(story, index) for index, story in enumerate(shown))
    if not stories:
        body = _nothing()
    if rest:
        body += f"<p>and {number(rest)} more clusters, none of them in more trouble than these</p>"
    name = shown[0].cluster_id if len(shown) == 1 else counted(len(stories), "cluster")
    scripts = ""
    if any(story.partitions or story.incidents for story in shown):
        from plotly.offline import get_plotlyjs

        own = (files("kwire.report") / "page.js").read_text(encoding="utf-8")
        scripts = f"<script>{get_plotlyjs()}</script>\n<script>\n{own}</script>"
    style = (files("kwire.report") / "style.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kafka: {escape(name)}</title>
<style>
{style}</style>
</head>
<body>
{body}
<footer>
<p>All times are UTC. "Now" is the last poll. What happened was worked out from what brokers told and when they did not
answer; times are exact to the time between two polls.
In the picture: drag to zoom, double-click to see all, point for more. Made by kwire {__version__}.</p>
</footer>
{scripts}
</body>
</html>
"""


def _nothing() -> str:
    return (
        '<div class="verdict watch"><span class="mark" aria-hidden="true">&#9650;</span>'
        "<strong>No poll was found.</strong><p>There is nothing to report.</p></div>"
    )


def _cluster(story: ClusterStory, index: int) -> str:
    found = verdict(story)
    details = "".join(f"<p>{escape(each)}</p>" for each in found.details)
    ends = clock(story.ended) if day(story.began) == day(story.ended) else f"{moment(story.ended):%Y-%m-%d %H:%M:%S}"
    parts = [
        f"""<article class="cluster">
<header><h1>Cluster {escape(story.cluster_id) or "without an id"}</h1>
<span class="quiet">{moment(story.began):%Y-%m-%d %H:%M:%S} to {ends} UTC
({lasting(story.ended - story.began)})</span></header>
<div class="verdict {found.level}" role="status">
<span class="mark" role="img" aria-label="{MEANS[found.level]}">{MARKS[found.level]}</span>
<strong>{escape(found.headline)}</strong>{details}</div>""",
        _tiles(story),
        _picture(story, index),
        _incidents(story),
        _troubled(story),
        '<div class="columns">',
        _brokers(story),
        _moves(story),
        _churn(story),
        _settings(story),
        _drift(story),
        "</div>\n</article>",
    ]
    return "\n".join(part for part in parts if part)


def _tiles(story: ClusterStory) -> str:
    answering = sum(1 for each in story.brokers if each.polls and each.silent_since is None)
    asked = sum(1 for each in story.brokers if each.polls)
    peak = {flag: max((count for _, count in steps), default=0) for flag, steps in story.health.items()}
    outages = sum(1 for each in story.incidents if group(each) == "outage")
    lasting_now = sum(1 for each in story.incidents if each.ended is None)
    tiles = [
        (f"{answering} of {asked}", "brokers answer", "", answering < asked),
        (
            number(story.now["offline"]),
            "partitions without a leader",
            _peak(peak["offline"]),
            bool(story.now["offline"]),
        ),
        (
            number(story.now["under_replicated"]),
            "lack a replica",
            _peak(peak["under_replicated"]),
            bool(story.now["under_replicated"]),
        ),
        (number(story.partitions), f"partitions of {counted(story.topics, 'topic')}", "", False),
        (
            percent(story.partitions - story.now["not_preferred"], story.partitions),
            "led by their preferred replica",
            "",
            False,
        ),
        (
            number(outages),
            "outages",
            f"{counted(len(story.incidents), 'incident')} in all, {lasting_now} going on",
            False,
        ),
    ]
    cells = "".join(
        f'<div class="tile{" bad" if bad else ""}"><b>{value}</b>{escape(name)}'
        f'<div class="sub">{escape(more)}&nbsp;</div></div>'
        for value, name, more, bad in tiles
    )
    return f'<div class="tiles">{cells}</div>'


def _peak(peak: int) -> str:
    return f"at worst {number(peak)}" if peak else "never one"


def _picture(story: ClusterStory, index: int) -> str:
    if not story.partitions and not story.incidents:
        return ""
    lines = "".join(
        f'<div class="legend"><b>{escape(part)}</b>'
        + "".join(
            f'<span><i class="dot" style="background:{colour}"></i>{escape(name)}</span>' for name, colour in names
        )
        + "</div>"
        for part, names in legends(story)
        if names
    )
    return (
        f"<section><h2>What happened</h2>\n{lines}\n"
        f'<script type="application/json" id="figure-{index}">{chart(story)}</script>\n'
        f'<div class="chart" data-figure="figure-{index}" role="img" '
        'aria-label="Incidents, partitions in trouble, leader moves and answers over time;'
        ' the tables below have the same in words">'
        "</div></section>"
    )


def _incidents(story: ClusterStory) -> str:
    if not story.incidents:
        return '<section><h2>Incidents</h2><p class="quiet">None.</p></section>'
    numbered = list(enumerate(story.incidents, start=1))
    numbers = {each.id: at for at, each in numbered}
    # The last ones, but whatever still lasts.
    shown = numbered[-INCIDENTS_SHOWN:]
    shown = [each for each in numbered[:-INCIDENTS_SHOWN] if each[1].ended is None][:INCIDENTS_SHOWN] + shown
    rows = []
    for at, each in shown:
        lasted = (
            '<span class="open">still going on</span>'
            if each.ended is None
            else escape(lasting(each.ended - each.began))
        )
        why = each.cause + (f"; follows from {numbers[each.caused_by]}" if each.caused_by in numbers else "")
        names = ", ".join(each.topics[:NAMES_SHOWN]) if each.topic_count > 1 else ""
        touched = impact(each) + (f"; {names}{_and_more(each.topic_count - NAMES_SHOWN)}" if names else "")
        rows.append(
            f'<tr><td class="n">{at}</td><td class="t">{clock(each.began, story)}</td><td class="t">{lasted}</td>'
            f'<td><i class="dot" style="background:{GROUPS[group(each)][1]}"></i>{escape(title(each))}'
            f'<div class="sub">{escape(why)}</div></td><td class="sub">{escape(touched)}</td></tr>'
        )
    head = '<th class="n">#</th><th>began</th><th>lasted</th><th>what, and how one knows</th><th>touched</th>'
    rest = len(numbered) - len(shown)
    note = f'<p class="sub">and {number(rest)} earlier ones</p>' if rest else ""
    return f"<section><h2>Incidents</h2>{_table(head, rows)}{note}</section>"


def _troubled(story: ClusterStory) -> str:
    """Partitions that are in trouble now."""
    total = story.now["offline"] + story.now["under_replicated"]
    if not story.troubled:
        return ""
    words = {"offline": "without a leader", "under_replicated": "lacks a replica"}
    rows = [
        f"<tr><td>{escape(topic)}</td><td class=n>{partition}</td><td>{words[flag]}</td>"
        f'<td class="t">{clock(since, story)}</td><td class="n">{lasting(story.ended - since)}</td></tr>'
        for topic, partition, flag, since in story.troubled[:ROWS_SHOWN]
    ]
    head = '<th>topic</th><th class="n">partition</th><th></th><th>since</th><th class="n">for</th>'
    note = _more(max(total, len(story.troubled)) - len(rows), "more")
    return f"<section><h2>Partitions in trouble now</h2>{_table(head, rows)}{note}</section>"


def _brokers(story: ClusterStory) -> str:
    if not story.brokers:
        return ""
    worst = sorted(story.brokers, key=lambda each: -_oddity(each))[:BROKERS_SHOWN]
    most = max((max(each.leaders, each.leaders_fair) for each in story.brokers), default=0) or 1
    rows = []
    for each in sorted(worst, key=lambda each: each.id):
        silent = sum((story.ended if ended is None else ended) - began for began, ended in each.silences)
        share = f"{each.leaders / each.leaders_fair:.2f}" if each.leaders_fair else ""
        quiet = escape(lasting(silent)) if silent else ""
        if each.silent_since is not None:
            quiet = f'<span class="open">since {clock(each.silent_since, story)}</span>'
        rows.append(
            f'<tr><td class="n">{each.id}</td><td class="bar">{_bar(each.leaders, each.leaders_fair, most)}</td>'
            f'<td class="n">{number(each.leaders)}</td><td class="n">{share}</td>'
            f'<td class="n">{number(each.replicas)}</td>'
            f'<td class="n">{millis(each.median_ms)}</td><td class="n">{millis(each.worst_ms)}</td>'
            f'<td class="n">{quiet}</td></tr>'
        )
    fair = next((each.leaders_fair for each in story.brokers if each.leaders_fair), 0)
    head = (
        '<th class="n">broker</th><th>leads now</th><th class="n"></th><th class="n">of fair</th>'
        '<th class="n">replicas</th><th class="n">answer</th><th class="n">worst</th><th class="n">silent</th>'
    )
    meaning = f"The mark is a fair share: {number(fair)} leaders. An answer is that to Metadata, in the median."
    note = f'<p class="sub">{meaning}</p>'
    rest = _more(len(story.brokers) - len(rows), "more, nearer to their share")
    return f"<section><h2>Brokers</h2>{_table(head, rows)}{rest}{note}</section>"


def _oddity(broker: BrokerStory) -> float:
    away = abs(broker.leaders - broker.leaders_fair) / broker.leaders_fair if broker.leaders_fair else 0.0
    return away + (1000 if broker.silent_since is not None else 0)


def _bar(value: float, fair: float, most: float) -> str:
    """A bar with a mark, in a box of 100 x 16."""
    at = f"{96 * fair / most:.1f}"
    mark = f'<line x1="{at}" x2="{at}" y1="0" y2="16" vector-effect="non-scaling-stroke"/>'
    return (
        f'<svg viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label="{number(value)} leaders">'
        f'<rect x="0" y="3" width="{96 * value / most:.1f}" height="10"/>{mark if fair else ""}</svg>'
    )


def _moves(story: ClusterStory) -> str:
    if not story.moves:
        return '<section><h2>Leader moves</h2><p class="quiet">No leader moved.</p></section>'
    total = sum(story.moves.values())
    reasons = "; ".join(f"{number(count)} {REASONS.get(reason, reason)}" for reason, count in story.moves.items())
    rows = [
        f'<tr><td>{escape(topic)}</td><td class="n">{partition}</td><td class="n">{number(times)}</td></tr>'
        for topic, partition, times in story.movers[:ROWS_SHOWN]
    ]
    head = '<th>topic</th><th class="n">partition</th><th class="n">moves</th>'
    return (
        f'<section><h2>Leader moves</h2><p class="sub">{counted(total, "move")}: {escape(reasons)}.</p>'
        f"{_table(head, rows)}{_more(story.moved_partitions - len(rows), 'more partitions')}</section>"
    )


def _churn(story: ClusterStory) -> str:
    if not story.churn:
        none = "No ISR changed but for partitions that were moved."
        return f'<section><h2>ISR churn</h2><p class="quiet">{none}</p></section>'
    rows = [
        f'<tr><td>{escape(topic)}</td><td class="n">{partition}</td><td class="n">{number(times)}</td>'
        f'<td class="n">{number(worst)}</td></tr>'
        for topic, partition, times, worst in story.churn[:ROWS_SHOWN]
    ]
    head = '<th>topic</th><th class="n">partition</th><th class="n">changes</th><th class="n">in the worst hour</th>'
    note = '<p class="sub">How often replicas left or joined, reassignments left out.</p>'
    return (
        f"<section><h2>ISR churn</h2>{note}{_table(head, rows)}"
        f"{_more(story.churning_partitions - len(rows), 'more partitions')}</section>"
    )


def _settings(story: ClusterStory) -> str:
    if not story.config_changes:
        return ""
    rows = [
        f'<tr><td class="t">{clock(each.at, story)}</td>'
        f"<td>{escape(each.resource or 'all brokers')}</td><td>{escape(each.key)}"
        f'<div class="sub">{_value(each.was)} &rarr; {_value(each.value)}</div></td></tr>'
        for each in story.config_changes[-ROWS_SHOWN:]
    ]
    head = "<th>told at</th><th>of</th><th>setting</th>"
    note = _more(story.config_change_count - len(rows), "earlier changes")
    return f"<section><h2>Settings changed</h2>{_table(head, rows)}{note}</section>"


def _drift(story: ClusterStory) -> str:
    if not story.drift:
        return ""
    rows = [
        f"<tr><td>{escape(each.key)}</td><td>{_value(each.value)}</td><td>{_value(each.usual)}</td>"
        f"<td>{escape(', '.join(each.topics[:NAMES_SHOWN]))}{_and_more(each.count - NAMES_SHOWN)}</td></tr>"
        for each in story.drift[:ROWS_SHOWN]
    ]
    head = "<th>setting</th><th>is</th><th>usual here</th><th>at</th>"
    note = _more(len(story.drift) - len(rows), "more")
    return f"<section><h2>Settings of their own</h2>{_table(head, rows)}{note}</section>"


def _value(value: str | None) -> str:
    if value is None:
        return "unset"
    if not value:
        return "empty"
    return escape(value if len(value) <= TEXT_SHOWN else f"{value[:TEXT_SHOWN]}...")


def _and_more(count: int) -> str:
    return f" and {number(count)} more" if count > 0 else ""


def _more(count: int, what: str) -> str:
    return f'<p class="sub">and {number(count)} {what}</p>' if count > 0 else ""


def _table(head: str, rows: Iterable[str]) -> str:
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"
