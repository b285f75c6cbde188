"""Reports are one HTML page with the contents of gold."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import expect

from kwire_pipeline.report import write_report
from kwire_pipeline.report.history_reader import MissingGold, read_histories
from kwire_pipeline.report.phrasing import format_duration
from kwire_pipeline.report.stories import latest_stories, stories
from kwire_pipeline.report.summary import ClusterSummary, SummaryLevel, summarize
from tests.browser import open_page
from tests.for_rows import for_rows
from tests.report.cases import after, incident, polls, state, write


class Page(HTMLParser):
    """A parsed page: its visible text, the resources that it loads, and the data of its charts."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.loads: list[str] = []
        self.figures: list[dict[str, object]] = []
        self.tags: list[str] = []
        self._inside: list[tuple[str, dict[str, str | None]]] = []
        self._shown: list[str] = []
        self.feed(source)
        self.close()
        self.text = " ".join(" ".join(self._shown).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in {"src", "href", "srcset", "action", "data"}]
        if tag in {"script", "style", "title"}:
            self._inside.append((tag, named))

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1][0] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self._shown.append(data)
        elif self._inside[-1][1].get("type") == "application/json":
            self.figures.append(json.loads(data))


def report(folder: Path, tmp_path: Path) -> tuple[Page, ClusterSummary]:
    out = tmp_path / "report.html"
    [(_, found)] = write_report(out, gold=folder)
    return Page(out.read_text(encoding="utf-8")), found


@pytest.fixture
def down(tmp_path: Path) -> Path:
    """Broker 2 of three was killed after 20 seconds and is not back."""
    return write(
        tmp_path / "gold",
        {
            "silver/polls": polls([1, 2, 3], failing={2: range(20, 60)}),
            "gold/intervals": [
                state("orders", 0, 1, (1, 2), 0, 29),
                state("orders", 0, 1, (1, 2), 29, under_replicated=True),
                state("orders", 1, 3, (3, 1)),
                state("logs", 0, 2, (2,), 0, 29),
                state("logs", 0, -1, (2,), 29, offline=True, leaderless=True),
            ],
            "gold/incidents": [
                incident(1, "topic_created", 1, 2, topics=["orders"], topic_count=1, partition_count=2),
                incident(
                    2, "broker_killed", 20, None, broker=2, under_replicated=1, offline=1, topics=["logs", "orders"]
                ),
            ],
        },
    )


def test_page_starts_with_current_problems_and_their_time(down: Path, tmp_path: Path) -> None:
    page, found = report(down, tmp_path)

    assert found.level is SummaryLevel.CRITICAL
    assert found.headline == (
        "Broker 2 was killed or crashed at 14:00:20 and is not back: "
        "1 partition without a leader, 1 partition under-replicated."
    )
    assert page.text.index(found.headline) < 150
    for said in (
        "2 of 3 brokers answer",
        "1 partitions without a leader at most 1",
        "3 partitions of 2 topics",
        "ongoing",
        "Topic orders created",
        "logs 0 without a leader 14:00:29",
        "since 14:00:19",
        "All times are UTC",
    ):
        assert said in page.text, said


def test_page_loads_nothing_and_is_small(down: Path, tmp_path: Path) -> None:
    page, _ = report(down, tmp_path)

    assert page.loads == []
    assert "img" not in page.tags
    assert "link" not in page.tags
    assert "default-src 'none'" in page.source
    assert not re.search(r"@import|url\(", page.source[: page.source.index("</style>")])
    assert len(page.source) < 6_000_000


def test_chart_shows_unhealthy_partitions_as_steps(down: Path, tmp_path: Path) -> None:
    page, _ = report(down, tmp_path)

    [figure] = page.figures
    traces = {trace["name"]: trace for trace in figure["data"] if "name" in trace}  # type: ignore[attr-defined]  # JSON
    assert traces["without a leader"]["y"] == [0, 1, 1]
    assert traces["without a leader"]["x"][1].startswith("2026-11-21 14:00:29")
    assert traces["outage"]["y"] == ["broker 2"]


def test_summary_depends_on_the_window(down: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"

    [(_, found)] = write_report(out, gold=down, until=after(19.5))

    assert found.level is SummaryLevel.OK
    assert found.details[0] == "All 3 brokers answer, and all 3 partitions have a leader and are in sync."


def test_names_and_values_are_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>&\"'"
    drift = {
        "topic": evil,
        "key": evil,
        "value": evil,
        "inherited_value": "1",
        "valid_from": after(1),
        "valid_to": None,
    }
    folder = write(
        tmp_path / "gold",
        {
            "silver/polls": [{"cluster_id": evil} | poll for poll in polls([1])],
            "gold/intervals": [{"cluster_id": evil} | state(evil, 0, -1, (1,), offline=True)],
            "gold/incidents": [
                {"cluster_id": evil}
                | incident(1, "topic_created", 1, 2, topics=[evil], topic_count=1, attributes=[(evil, f"{evil} -> 1")])
            ],
            "gold/config_drift": [{"cluster_id": evil} | drift],
        },
    )

    page, _ = report(folder, tmp_path)

    assert f"Cluster {evil}" in page.text
    assert f"Topic {evil} created" in page.text
    assert "<script>alert" not in page.source
    [figure] = page.figures
    assert "&lt;script&gt;" in json.dumps(figure)


def test_folder_without_polls_has_a_page(tmp_path: Path) -> None:
    folder = write(tmp_path / "gold", {})
    for name in ("intervals", "incidents"):  # gold has no tables without polls
        shutil.rmtree(folder / "gold" / name)
    out = tmp_path / "report.html"

    assert write_report(out, gold=folder) == []
    assert "No polls found." in Page(out.read_text(encoding="utf-8")).text


def test_polls_without_partitions_have_a_page(tmp_path: Path) -> None:
    page, found = report(write(tmp_path / "gold", {"silver/polls": polls([1])}), tmp_path)

    assert found.headline == "No partition was reported."
    assert page.figures == []


def test_cluster_with_one_broker(tmp_path: Path) -> None:
    tables = {"silver/polls": polls([1]), "gold/intervals": [state("t", 0, 1, (1,)), state("t", 1, 1, (1,))]}

    page, found = report(write(tmp_path / "gold", tables), tmp_path)

    assert found == ClusterSummary(
        SummaryLevel.OK,
        "Nothing is wrong now.",
        ("The only polled broker answers, and all 2 partitions have a leader and are in sync.",),
    )
    assert "1 of 1 brokers answer" in page.text


def test_report_on_old_data_warns(down: Path, tmp_path: Path) -> None:
    out, healthy = tmp_path / "report.html", {"silver/polls": polls([1]), "gold/intervals": [state("t", 0, 1, (1,))]}
    well = write(tmp_path / "well", healthy)

    [(_, fresh)] = write_report(out, gold=well, now=after(60))
    page = Page(out.read_text(encoding="utf-8"))
    [(_, old)] = write_report(out, gold=well, now=after(2 * 86_400))
    [(_, critical)] = write_report(out, gold=down, now=after(2 * 86_400))

    assert (fresh.level, fresh.headline) == (SummaryLevel.OK, "Nothing is wrong now.")
    assert "before this page was written" in page.text
    assert old.level is SummaryLevel.WARNING
    assert old.headline.startswith("The last poll was ")
    assert old.headline.endswith(" ago. Nothing was wrong then.")
    assert critical.level is SummaryLevel.CRITICAL
    assert critical.details[0].endswith("ago: the state since then is unknown.")


def test_times_without_polls_are_noted(tmp_path: Path) -> None:
    times = [(5, 20), (6, 25), (30, 40)]
    gaps = [{"last_polled_at": after(began), "polled_at": after(ended)} for began, ended in times]
    tables = {"silver/polls": polls([1]), "gold/intervals": [state("t", 0, 1, (1,))], "silver/poll_gaps": gaps}

    [(_, summary)] = write_report(tmp_path / "report.html", gold=write(tmp_path / "gold", tables))

    [note] = summary.details[1:]
    assert note.startswith("Polls are missing 2 times, for at most 20 s from 14:00:05 on: ")


def test_lists_of_large_clusters_are_cut(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "gold",
        {
            "silver/polls": polls(range(1, 41), seconds=5),
            "gold/intervals": [
                state(f"topic-{n:04}", 0, -1, (n % 40 + 1,), 1, offline=True, leaderless=True) for n in range(4_882)
            ],
            "gold/incidents": [incident(n, "topic_created", n / 100, n / 100 + 0.1) for n in range(300)],
        },
    )

    page, found = report(folder, tmp_path)

    assert found.headline == "4,882 partitions without a leader, since 14:00:01."
    assert "and 4,870 more" in page.text
    assert "and 250 earlier ones" in page.text
    assert "and 10 more, closer to their fair share" in page.text


def test_single_failed_poll_does_not_count_as_unreachable(tmp_path: Path) -> None:
    folder = write(tmp_path / "gold", {"silver/polls": polls([1, 2], failing={1: range(30, 31), 2: range(30, 33)})})

    [history] = read_histories(folder)

    lengths = {broker.id: [(ended or 0) - began for began, ended in broker.unreachable] for broker in history.brokers}
    assert lengths == {1: [], 2: [4_000_000]}


def test_unfair_share_of_leaders_is_noted(tmp_path: Path) -> None:
    states = [state("t", n, 1 if n else 2, (1, 2), not_preferred=not n) for n in range(10)]

    _, found = report(write(tmp_path / "gold", {"silver/polls": polls([1, 2]), "gold/intervals": states}), tmp_path)

    assert found.details[-1] == (
        "Worth a look: broker 1 leads 9 partitions, its fair share is 5; "
        "1 partition (10 %) is not led by the preferred replica."
    )


def test_clusters_are_sorted_by_problems(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "gold",
        {
            "silver/polls": [*polls([1]), *({"cluster_id": "b-cluster"} | poll for poll in polls([1]))],
            "gold/intervals": [
                state("t", 0, 1, (1,)),
                {"cluster_id": "b-cluster"} | state("t", 0, -1, (1,), 3, offline=True),
            ],
        },
    )

    histories = read_histories(folder)

    assert [(history.cluster_id, summarize(history).level) for history in histories] == [
        ("b-cluster", SummaryLevel.CRITICAL),
        ("a-cluster", SummaryLevel.OK),
    ]


def test_folder_without_gold_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(MissingGold) as caught:
        read_histories(tmp_path)

    assert caught.value.folder == tmp_path
    assert caught.value.missing == "table gold/intervals"


def test_unanswered_polls_without_cluster_id_are_not_a_cluster(tmp_path: Path) -> None:
    failing = [row | {"cluster_id": ""} for row in polls([-1], failing={-1: range(60)})]
    both = {"gold/intervals": [state("orders", 0, 1, (1, 2))], "gold/incidents": []}
    write(tmp_path / "both", {"silver/polls": [*polls([1]), *failing], **both})
    write(tmp_path / "alone", {"silver/polls": failing, "gold/intervals": [], "gold/incidents": []})

    assert [history.cluster_id for history in read_histories(tmp_path / "both")] == ["a-cluster"]
    assert [history.cluster_id for history in read_histories(tmp_path / "alone")] == [""]


@for_rows(
    ("seconds", "text"),
    [(0.2, "0.2 s"), (59, "59 s"), (206, "3 min 26 s"), (7_200, "2 h"), (90_000, "1 d 1 h")],
)
def test_durations_have_at_most_two_units(seconds: float, text: str) -> None:
    assert format_duration(seconds * 1e6) == text


def test_dead_cluster_has_no_current_leaders(tmp_path: Path) -> None:
    tables = {
        "silver/polls": polls([1, 2], failing={1: range(40, 60), 2: range(40, 60)}),
        "gold/intervals": [state("orders", 0, 1, (1, 2)), state("orders", 1, 2, (2, 1), under_replicated=True)],
        "gold/incidents": [incident(1, "cluster_unreachable", 40, None)],
    }
    page, summary = report(write(tmp_path / "out", tables), tmp_path)

    assert summary.level is SummaryLevel.CRITICAL
    assert summary.headline == "No broker has answered since 14:00:40."
    assert "Leaders, ISRs, and counts on this page are from that time" in page.text
    assert "0 of 2 brokers answer" in page.text
    assert "unknown partitions without a leader" in page.text
    assert "leaders before" in page.text
    assert "leaders now" not in page.text


def test_brokers_of_dead_cluster_have_stories(tmp_path: Path) -> None:
    outage = incident(1, "cluster_unreachable", 40, None, attributes=[("brokers", "1, 2")])
    folder = write(tmp_path / "out", {"silver/polls": polls([1, 2]), "gold/incidents": [outage]})

    [history] = read_histories(folder)

    assert [(story.subject, len(story.events)) for story in stories(history)] == [("broker 1", 1), ("broker 2", 1)]


def test_every_topic_of_a_large_outage_has_a_story(tmp_path: Path) -> None:
    states = [state(f"topic-{n:03}", p, 1, (1, 2), 29, under_replicated=True) for n in range(300) for p in range(12)]
    folder = write(tmp_path / "out", {"silver/polls": polls([1, 2]), "gold/intervals": states})

    [history] = read_histories(folder)
    found = stories(history)

    assert [story.subject for story in found] == [f"topic topic-{n:03}" for n in range(300)]
    text = "partitions 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more are under-replicated (ongoing)"
    assert found[299].events == [("14:00:29", text)]


def test_stories_with_the_latest_events_are_kept(tmp_path: Path) -> None:
    created = [incident(n, "topic_created", n, n, topics=[f"t{n}"], topic_count=1) for n in (1, 5, 3)]
    states = [state("t0", 0, 1, (1, 2), 2, under_replicated=True)]
    tables = {"silver/polls": polls([1, 2]), "gold/intervals": states, "gold/incidents": created}

    [history] = read_histories(write(tmp_path / "out", tables))
    kept = latest_stories(stories(history), 3)

    assert [story.subject for story in kept] == ["topic t0", "topic t3", "topic t5"]


def test_story_of_a_broker_that_is_still_down_is_kept(tmp_path: Path) -> None:
    down = incident(2, "broker_lost", 0, None, broker=2)
    created = [incident(n, "topic_created", n, n, topics=[f"t{n}"], topic_count=1) for n in (1, 5, 3)]
    tables = {"silver/polls": polls([1]), "gold/incidents": [down, *created]}

    [history] = read_histories(write(tmp_path / "out", tables))
    kept = latest_stories(stories(history), 2)

    assert [story.subject for story in kept] == ["broker 2", "topic t5"]


@pytest.mark.programs
def test_page_in_a_browser_finds_a_topic_and_fits_the_screen(tmp_path: Path) -> None:
    long = "a-topic-with-a-long-name." * 8
    states = [state(f"{long}{n}", 0, 1, (1, 2), 29, under_replicated=True) for n in range(40)]
    tables = {"silver/polls": polls([1, 2], failing={2: range(30, 60)}), "gold/intervals": states}
    write_report(tmp_path / "report.html", gold=write(tmp_path / "out", tables))
    with open_page() as page:
        page.set_viewport_size({"width": 1000, "height": 800})
        page.goto((tmp_path / "report.html").as_uri())
        expect(page.locator(".found")).to_contain_text("40 of 40 with events, the first 30 are shown")
        cut = "sections => sections.filter(each => each.scrollWidth > each.clientWidth).length"
        assert page.locator("section").evaluate_all(cut) == 0

        page.locator(".search").fill("NAME.37")

        expect(page.locator(".found")).to_have_text("1 of 40 with events")
        expect(page.locator(".story:visible")).to_contain_text("partition 0 is under-replicated (ongoing)")
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_stories_tell_what_happened_to_a_topic_and_a_broker(down: Path, tmp_path: Path) -> None:
    found = {story.subject: story for history in read_histories(down) for story in stories(history)}
    page, _ = report(down, tmp_path)

    assert any("killed" in text for _, text in found["broker 2"].events)
    assert "broker 2" in page.text
    assert page.source.count('class="story"') == len(found)
