"""The ledger of a sink: it receives a new and an ended incident once, also across restarts."""

from __future__ import annotations

import errno
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kwire._util.folder_lock import NoFolderLocks
from kwire_pipeline.sinks import IncidentNotice, NoticeStatus, SinkFailed, ledger_owner
from kwire_pipeline.sinks import ledger as ledger_module
from kwire_pipeline.sinks.delivery import Round
from kwire_pipeline.sinks.job_metrics import JobMetrics
from kwire_pipeline.sinks.ledger import KEPT, STRIKES
from kwire_pipeline.sinks.ledger_owner import LedgerInUse
from kwire_pipeline.sinks.notice import MISSED
from kwire_pipeline.sinks.sink import CallableSink, load_callable
from tests.pipeline.sinks.alerts import START, Gold, delivery_to, incident, shown

RECEIVED: list[str] = []


def test_incident_is_sent_once_when_new_and_once_when_ended(tmp_path: Path) -> None:
    gold = Gold(tmp_path)

    assert gold.publish(incident(10)) == [("firing", "broker_killed")]
    assert gold.publish(incident(10)) == []
    assert gold.publish(incident(10, ended=60)) == [("resolved", "broker_killed")]
    gold.restart()
    assert gold.publish(incident(10, ended=60)) == []
    assert Gold(tmp_path / "other").publish(incident(10, ended=60)) == [("resolved", "broker_killed")]


def test_outage_that_is_classified_again_is_not_sent_again(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    gold.publish(incident(10, kind="broker_lost"))

    assert gold.publish(incident(8, kind="broker_killed")) == []
    assert gold.publish(incident(8, kind="broker_killed", ended=60)) == [("resolved", "broker_killed")]
    assert gold.publish(incident(8, ended=60), incident(300)) == [("firing", "broker_killed")]


def test_next_outage_of_a_broker_does_not_take_the_place_of_one_that_is_classified_again(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    gold.publish(incident(0, kind="broker_lost"))

    assert gold.publish(incident(20, kind="broker_lost"), incident(0, ended=10)) == [
        ("resolved", "broker_killed"),
        ("firing", "broker_lost"),
    ]


def test_incident_that_gold_no_longer_has_is_resolved_after_its_successor(tmp_path: Path) -> None:
    """A broker is lost, then all are: gold replaces the first incident by `cluster_unreachable`."""
    gold = Gold(tmp_path)
    gold.publish(incident(10, kind="broker_lost"))
    [lost] = gold.ledger.pending([])
    everything = incident(12, kind="cluster_unreachable") | {"broker_id": None}

    assert gold.publish(everything) == [("firing", "cluster_unreachable"), ("resolved", "broker_lost")]
    assert gold.publish(everything) == []
    assert lost.labels["kind"] == "broker_lost"
    assert lost.annotations["withdrawn"] == "true"
    assert lost.incident["ended_at"] is not None


def test_incident_that_lasts_again_is_sent_again_with_another_key(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    rows = [incident(10), incident(10, ended=60), incident(10), incident(10, ended=90)]
    for row in rows:
        gold.round(row)

    keys = [notice.key for notice in gold.sink.notices]
    first = rows[0]["incident_id"]
    assert keys == [f"{first}-firing", f"{first}-resolved", f"{first}-firing-2", f"{first}-resolved-2"]
    assert len({notice.id for notice in gold.sink.notices}) == 1
    assert gold.sink.notices[-1].incident["ended_at"] == START + timedelta(seconds=90)


def test_new_sink_does_not_receive_what_ended_before_it_began(tmp_path: Path) -> None:
    """Gold is still empty when the sink begins; then an old capture is ingested."""
    gold = Gold(tmp_path, began_at=START + timedelta(seconds=65))
    assert gold.publish() == []

    assert gold.publish(incident(10, ended=60), incident(20), incident(30, ended=70)) == [
        ("firing", "broker_killed"),
        ("resolved", "broker_killed"),
    ]


def test_old_incidents_are_forgotten_and_not_sent_again(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    old, later = incident(0, ended=10), KEPT.total_seconds() + 86_400
    gold.publish(old)

    assert len(gold.publish(old, incident(later, ended=later + 1))) == 1
    gold.restart()
    assert gold.publish(old) == []
    assert gold.ledger.alert_counts == {"resolved": 1}


@pytest.mark.parametrize("may_have_arrived", [False, True])
def test_refused_notice_is_a_dead_letter_and_blocks_nothing(tmp_path: Path, may_have_arrived: bool) -> None:
    gold = Gold(tmp_path)
    refused = incident(0, kind="config_changed")
    others = [incident(number, kind=f"kind_{number}") for number in range(1, 4)]
    if may_have_arrived:
        gold.sink.failures["config_changed"] = SinkFailed("sink", "connection lost")
        gold.round(refused)
    gold.sink.failures["config_changed"] = SinkFailed("sink", "HTTP status 422", is_final=True)

    assert len(gold.publish(refused, *others)) == 3
    gold.restart()
    assert gold.publish(refused, *others) == []
    [letter] = gold.ledger.dead_letters
    assert (letter.alert_id, letter.reason) == (refused["incident_id"], "HTTP status 422")
    assert gold.ledger.dead_letter_count == 1
    gold.sink.failures.clear()
    ended = incident(0, kind="config_changed", ended=60)
    assert gold.publish(ended, *others) == ([("resolved", "config_changed")] if may_have_arrived else [])


def test_notice_that_fails_while_others_are_accepted_is_a_dead_letter_in_the_end(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    gold.sink.failures["config_changed"] = SinkFailed("sink", "HTTP status 500")
    rows = [incident(0, kind="config_changed")]
    for number in range(STRIKES):
        assert gold.ledger.dead_letter_count == 0
        rows.append(incident(1000 * (number + 1)))
        assert len(gold.publish(*rows)) == 1

    assert gold.ledger.dead_letter_count == 1
    assert gold.round(*rows) == Round(0, 0)


def test_sink_that_accepts_nothing_gets_all_notices_once_it_is_back(tmp_path: Path) -> None:
    gold = Gold(tmp_path)
    rows = [incident(number, kind=f"kind_{number}") for number in range(10)]
    gold.sink.failures = {row["kind"]: SinkFailed("sink", "refused", may_have_arrived=False) for row in rows}
    for _ in range(3 * STRIKES):
        assert gold.round(*rows).failed == 3  # not ten timeouts
    gold.sink.failures.clear()

    ended = [row | {"ended_at": row["first_sign_at"] + timedelta(seconds=1)} for row in rows[:5]]
    assert sorted(gold.publish(*ended, *rows[5:9])) == sorted(
        [("resolved", f"kind_{number}") for number in range(5)]
        + [("firing", f"kind_{number}") for number in range(5, 9)]
    )
    assert gold.ledger.dead_letter_count == 0


@pytest.mark.parametrize("may_have_arrived", [False, True])
def test_sink_that_was_down_for_long_gets_what_lasts_and_a_summary_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_have_arrived: bool
) -> None:
    monkeypatch.setattr(ledger_module, "MISSED_AFTER", timedelta(0))
    gold = Gold(tmp_path)
    known, lasting = incident(0, kind="broker_lost"), incident(500)
    ended = [incident(number, kind=f"kind_{number % 3}", ended=number + 1) for number in range(10, 300)]
    gold.publish(known)
    kinds = ["broker_killed", "broker_lost", MISSED, *(f"kind_{number}" for number in range(3))]
    gold.sink.failures = {kind: SinkFailed("sink", "refused", may_have_arrived=False) for kind in kinds}
    gold.sink.failures[MISSED] = SinkFailed("sink", "lost", may_have_arrived=may_have_arrived)
    known["ended_at"] = START
    for rows in ([known, *ended[:3]], [known, *ended[:10]], [known, *ended]):
        gold.round(*rows, lasting)
        gold.restart()
    gold.sink.failures.clear()

    gold.round(known, *ended, lasting)
    gold.round(known, *ended, lasting)
    notices = list(gold.sink.notices)
    summaries = [notice for notice in notices if notice.incident["kind"] == MISSED]
    assert sorted(gold.sink.take()) == [
        ("firing", "broker_killed"),
        ("resolved", "broker_lost"),
        *[("resolved", MISSED)] * (1 + may_have_arrived),  # one that may have arrived is repeated as it was
    ]
    assert sum(int(notice.incident["attributes"][f"kind_{kind}"]) for notice in summaries for kind in range(3)) == 290
    assert summaries[0].summary.endswith(
        "4 kind_1, 3 kind_2, 3 kind_0" if may_have_arrived else "97 kind_1, 97 kind_2, 96 kind_0"
    )
    assert gold.publish(known, *ended, lasting) == []
    again = ended[0] | {"ended_at": None}
    assert gold.publish(known, again, *ended[1:], lasting) == [("firing", again["kind"])]
    # The sink is available. The times of summaries are those of this machine, and do not make incidents too old.
    assert len(gold.publish(known, again, *ended[1:], incident(900, ended=901))) == 2
    assert gold.ledger.ended_until < START


@pytest.mark.parametrize("has_locks", [True, False])
def test_two_jobs_do_not_send_the_notices_of_one_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    """A mount without locks has a lease."""

    def no_lock(folder: Path) -> None:
        raise NoFolderLocks(folder, OSError(errno.ENOLCK, os.strerror(errno.ENOLCK)))

    if not has_locks:
        monkeypatch.setattr(ledger_owner, "FolderLock", no_lock)
    first, second = Gold(tmp_path), Gold(tmp_path)
    first.publish(incident(10))

    with pytest.raises(LedgerInUse, match=rf"sink: process {os.getpid()}( on .*)? sends the notices of this sink"):
        second.publish(incident(10))
    first.delivery.release()
    assert second.publish(incident(10)) == []
    assert second.publish(incident(10, ended=60)) == [("resolved", "broker_killed")]


def test_ledger_is_on_disk_before_it_replaces_the_previous_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure, a file that was renamed before it was synced can be empty."""
    synced: list[str] = []
    fsync, replace = os.fsync, os.replace

    def record_fsync(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def record_replace(path: str, target: Path) -> None:
        assert synced[-1] == Path(path).name
        synced[-1:] = ["temporary", f"temporary to {target.name}"]
        replace(path, target)

    gold = Gold(tmp_path)
    gold.publish()
    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    gold.publish(incident(10))

    assert synced == ["temporary", "temporary to ledger-000000000000.json", "sink"] * 2


def test_notice_is_not_sent_while_the_ledger_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = Gold(tmp_path)
    gold.publish(incident(0))
    with monkeypatch.context() as full_disk:
        full_disk.setattr(ledger_module, "_replace", lambda *_: os.close(-1))
        for number in range(3):
            with pytest.raises(OSError, match="Bad file descriptor"):
                gold.round(incident(0), incident(1000 + number, kind="group_stalled"))
    assert [notice.incident["kind"] for notice in gold.sink.notices] == []

    # Gold has withdrawn the others, which have certainly not arrived.
    assert gold.publish(incident(0), incident(2000, kind="group_stalled")) == [("firing", "group_stalled")]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"alerts": {"a": 1}}'])
def test_damaged_ledger_begins_again(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    gold = Gold(tmp_path)
    gold.publish(incident(10), incident(20, kind="config_changed", ended=30))
    gold.delivery.release()
    [path] = (tmp_path / "_notified" / "sink").glob("ledger*")
    path.write_bytes(content)

    damaged = Gold(tmp_path)
    assert damaged.publish(incident(10), incident(20, kind="config_changed", ended=30)) == [("firing", "broker_killed")]
    assert "is damaged" in caplog.text
    assert path.with_name(f"{path.name}.damaged").read_bytes() == content
    damaged.restart()
    assert damaged.publish(incident(10)) == []


def test_counters_count_an_outage_once_and_continue_after_restart(tmp_path: Path) -> None:
    def published(*rows: dict[str, Any]) -> float:
        delivery.publish(lambda _: rows)
        metrics.set_ledger("metrics", delivery.ledger)
        return sum(value for name, value in shown(metrics).items() if name.startswith("kwire_pipeline_incidents_total"))

    metrics = JobMetrics()
    delivery = delivery_to(metrics, tmp_path, START + timedelta(seconds=1))
    old, lost, paused = incident(-99, ended=0), incident(10, kind="broker_lost"), incident(9, kind="broker_paused")
    killed = incident(8, ended=60)
    assert [published(old), published(old, lost), published(old, paused), published(old, killed)] == [0, 1, 1, 1]

    delivery.release()
    metrics = JobMetrics()
    delivery = delivery_to(metrics, tmp_path, START)
    assert published(old, killed) == 1
    assert published() == 1  # gold has expired them
    assert published(incident(99)) == 2


def test_metrics_show_sinks_and_open_incidents(tmp_path: Path) -> None:
    gold, metrics = Gold(tmp_path), JobMetrics()
    gold.sink.failures["config_changed"] = SinkFailed("sink", "HTTP status 422", is_final=True)
    gold.sink.failures["broker_killed"] = SinkFailed("sink", "HTTP status 503")
    gold.round(incident(0), incident(1, kind="config_changed"), incident(2, kind="config_changed"))
    metrics.set_ledger("sink", gold.ledger, gold.delivery.pending, gold.delivery.failed)
    metrics.set_ledger("other", None)
    metrics.add_failed_build()
    metrics.set_store({"c": START}, {"silver/polls": 1_000})
    metrics.set_open_incidents([incident(0)])
    metrics.set_open_incidents([incident(0, ended=1)])

    samples = shown(metrics)
    assert samples['kwire_pipeline_dead_letters_total{sink="sink"}'] == 2
    assert samples['kwire_pipeline_failed_notices{sink="sink"}'] == 1
    assert samples['kwire_pipeline_pending_notices{sink="sink"}'] == 1
    assert samples["kwire_pipeline_failed_builds_total"] == 1
    assert samples['kwire_pipeline_newest_poll_timestamp_seconds{cluster_id="c"}'] == START.timestamp()
    assert samples['kwire_pipeline_table_bytes{table="silver/polls"}'] == 1_000
    assert samples['kwire_pipeline_sends_notices{sink="sink"}'] == 1
    assert samples['kwire_pipeline_sends_notices{sink="other"}'] == 0
    assert samples['kwire_pipeline_open_incidents{cluster_id="c",kind="broker_killed"}'] == 0


def keep(notice: IncidentNotice) -> None:
    RECEIVED.append(f"{notice.status} {notice.incident['kind']}")


def test_callable_is_named_by_its_module() -> None:
    sink = load_callable("json:dumps")

    with pytest.raises(SinkFailed, match="TypeError"):
        sink.send(IncidentNotice(NoticeStatus.FIRING, incident(10)))
    CallableSink(keep).send(IncidentNotice(NoticeStatus.FIRING, incident(10)))

    assert RECEIVED == ["firing broker_killed"]
    assert sink.name == "json.dumps"
    with pytest.raises(ValueError, match="expected module:function"):
        load_callable("json:missing")
