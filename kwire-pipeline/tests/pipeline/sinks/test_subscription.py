"""Severities and filters: sinks receive incidents that are trouble, unless their filters say otherwise."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kwire_pipeline.gold.diagnosis import IncidentKind
from kwire_pipeline.sinks import IncidentFilter, IncidentNotice, NoticeStatus
from kwire_pipeline.sinks.delivery import SinkDelivery
from kwire_pipeline.sinks.notice import SEVERITIES, Severity, severity_of
from kwire_pipeline.sinks.subscription import TROUBLE
from tests.paths import ROOT
from tests.pipeline.sinks.alerts import DELIVERIES, LONG_AGO, Recorder, incident

PAGE = ROOT / "docs" / "live.md"


def test_page_has_the_severity_of_each_kind() -> None:
    rows = re.findall(r"^\| `(critical|warning|info)` \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {kind: severity for severity, kinds in rows for kind in re.findall(r"`(\w+)`", kinds)}

    assert documented == {str(kind): str(SEVERITIES[kind]) for kind in IncidentKind}
    assert severity_of("a_kind_of_a_later_version") is Severity.WARNING


@pytest.mark.parametrize(
    ("filter", "row", "is_accepted"),
    [
        (IncidentFilter(), {"kind": "topic_created"}, True),
        (TROUBLE, {"kind": "broker_killed"}, True),
        (TROUBLE, {"kind": "disk_almost_full"}, True),
        (TROUBLE, {"kind": "topic_created"}, False),
        (TROUBLE, {"kind": "config_changed"}, False),
        (TROUBLE, {"kind": "preferred_election"}, False),
        (IncidentFilter(kinds=["topic_created"]), {"kind": "topic_created"}, True),
        (IncidentFilter(kinds=["topic_created"]), {"kind": "broker_killed"}, False),
        (IncidentFilter(clusters=["prod-*", "c"]), {"cluster_id": "prod-1"}, True),
        (IncidentFilter(clusters=["prod-*"]), {"cluster_id": "Prod-1"}, False),
        (IncidentFilter(topics=["pay*"]), {"topics": ["orders", "payments"], "topic_count": 2}, True),
        (IncidentFilter(topics=["pay*"]), {"topics": ["orders"], "topic_count": 1}, False),
        (IncidentFilter(topics=["pay*"]), {"topics": ["orders"], "topic_count": 101}, True),
        (IncidentFilter(topics=["pay*"]), {"topics": [], "topic_count": 0}, True),
        (IncidentFilter(severities=["critical"], clusters=["d"]), {}, False),
    ],
)
def test_filter_accepts_incidents_that_meet_all_its_conditions(
    filter: IncidentFilter, row: dict[str, Any], is_accepted: bool
) -> None:
    assert filter.accepts({**incident(0), **row}) is is_accepted


class Filtered:
    """The delivery of critical incidents to a sink."""

    def __init__(self, folder: Path) -> None:
        self.sink = Recorder()
        critical = IncidentFilter(severities=["critical"])
        self._delivery = SinkDelivery(str(folder), self.sink, LONG_AGO, critical)
        DELIVERIES.append(self._delivery)

    def publish(self, *rows: dict[str, Any], settled: datetime | None = None) -> list[tuple[str, str]]:
        self._delivery.publish(lambda _: rows, lambda row: settled is None or row["first_sign_at"] <= settled)
        return self.sink.take()


def test_alert_that_its_filter_no_longer_accepts_is_resolved(tmp_path: Path) -> None:
    critical = Filtered(tmp_path)

    assert critical.publish(incident(10, kind="broker_lost")) == [("firing", "broker_lost")]
    assert critical.publish(incident(10, kind="controlled_shutdown")) == []
    assert critical.publish(incident(10, kind="controlled_shutdown", ended=60)) == [("resolved", "controlled_shutdown")]


def test_alert_that_its_filter_accepts_later_is_sent_then(tmp_path: Path) -> None:
    critical = Filtered(tmp_path)

    assert critical.publish(incident(10, kind="controlled_shutdown")) == []
    assert critical.publish(incident(10, kind="broker_killed")) == [("firing", "broker_killed")]


def test_consequence_names_its_cause_by_the_id_that_the_sink_knows(tmp_path: Path) -> None:
    """The outage has another id in gold since its diagnosis changed."""
    sink = Recorder()
    delivery = SinkDelivery(str(tmp_path), sink, LONG_AGO)
    DELIVERIES.append(delivery)
    delivery.publish(lambda _: [incident(10, kind="broker_lost")])
    outage = incident(8, kind="broker_killed")
    moved = incident(12, kind="controller_moved") | {"caused_by": outage["incident_id"]}
    later = incident(13, kind="config_changed") | {"caused_by": "unsent"}
    delivery.publish(lambda _: [outage, moved, later])

    assert [notice.labels.get("caused_by") for notice in sink.notices] == [None, "broker_lost-10", "unsent"]
    for row, label in ((moved, outage["incident_id"]), (incident(0), None)):
        assert IncidentNotice(NoticeStatus.FIRING, row).labels.get("caused_by") == label
