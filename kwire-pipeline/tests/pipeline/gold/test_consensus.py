"""The agreed state of a partition, from the reports of several brokers. Times are seconds in these tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from kwire_pipeline.gold.consensus import AgreedState, ObservationColumns, Role, Voters, fold_partitions

ABSENT = "absent"


@dataclass
class Report:
    """A report of a broker about partition t-0."""

    at: int
    broker: int
    leader: int | str = 1
    epoch: int = 0
    isr: list[int] = field(default_factory=lambda: [1, 2, 3])
    replicas: list[int] = field(default_factory=lambda: [1, 2, 3])
    topic_id: str | None = "A"
    role: Role = Role.OBSERVATION
    offline: list[int] = field(default_factory=list)

    @property
    def fingerprint(self) -> int:
        if self.leader == ABSENT:
            return 0
        return hash((self.leader, self.epoch, tuple(self.replicas), frozenset(self.isr), tuple(self.offline)))


ALWAYS = [(broker, 0, 1000) for broker in (1, 2, 3)]


def agreed_states(
    *reports: Report, periods: list[tuple[int, int, int]] = ALWAYS, end: int = 999, resumed: AgreedState | None = None
) -> list[AgreedState]:
    rows = ObservationColumns(
        topic=["t"] * len(reports),
        partition=[0] * len(reports),
        role=[report.role for report in reports],
        at=[report.at for report in reports],
        broker_id=[report.broker for report in reports],
        present=[report.leader != ABSENT for report in reports],
        topic_id=[report.topic_id for report in reports],
        leader=[report.leader if isinstance(report.leader, int) else -1 for report in reports],
        epoch=[report.epoch for report in reports],
        replicas=[report.replicas for report in reports],
        isr=[report.isr for report in reports],
        offline=[report.offline for report in reports],
        fingerprint=[report.fingerprint for report in reports],
        agreed=[resumed] * len(reports),
    )
    return fold_partitions(rows, Voters(periods, end), end)


def all_report(at: int, **state: object) -> list[Report]:
    return [Report(at, broker, **state) for broker in (1, 2, 3)]  # type: ignore[arg-type]  # fields of Report


def rows_of(found: list[AgreedState]) -> list[int]:
    return [state.row for state in found]


def test_state_is_agreed_once_most_brokers_report_it() -> None:
    (only,) = agreed_states(Report(10, 1), Report(11, 2), Report(12, 3))
    assert (only.first_reported_at, only.reported_by, only.since, only.until) == (10, 1, 11, None)
    assert only.reports == [(1, 10), (2, 11), (3, 12)]


def test_higher_leader_epoch_wins_against_majority() -> None:
    *_, last = agreed_states(*all_report(10), Report(20, 2, leader=3, epoch=1))
    assert (last.row, last.since) == (3, 20)


def test_resumed_broker_with_older_epoch_is_ignored() -> None:
    responding = [(1, 0, 1000), (3, 0, 1000), (2, 0, 15), (2, 40, 1000)]
    reports = [*all_report(10, leader=2), Report(20, 1, leader=1, epoch=1), Report(21, 3, leader=1, epoch=1)]
    found = agreed_states(*reports, Report(40, 2, leader=2, isr=[1, 2]), periods=responding)
    assert rows_of(found) == [0, 3]


def test_unreachable_broker_has_no_vote() -> None:
    responding = [(1, 0, 1000), (2, 0, 15), (3, 0, 15)]
    *_, last = agreed_states(*all_report(10), Report(20, 1, isr=[1]), periods=responding)
    assert (last.row, last.since) == (3, 20)


def test_last_report_of_unreachable_broker_keeps_epoch_from_going_down() -> None:
    periods = [(1, 0, 25), (2, 0, 1000), (3, 0, 1000)]
    found = agreed_states(*all_report(10), Report(20, 1, leader=2, epoch=1), Report(30, 2, isr=[1, 2]), periods=periods)
    assert rows_of(found) == [0, 3]


def test_newest_report_breaks_tie() -> None:
    two = [(1, 0, 1000), (2, 0, 1000)]
    found = agreed_states(
        Report(10, 1), Report(10, 2), Report(20, 1, isr=[1, 2]), Report(30, 2, leader=ABSENT), periods=two
    )
    assert [(state.row, state.since) for state in found] == [(0, 10), (2, 20), (3, 30)]


def test_topic_exists_if_two_of_three_brokers_report_it() -> None:
    found = agreed_states(Report(10, 1), Report(11, 2), Report(12, 3, leader=ABSENT))
    assert rows_of(found) == [0]


def test_recreated_topic_is_agreed_although_its_epochs_restart() -> None:
    reports = [*all_report(10, epoch=7), *all_report(20, leader=ABSENT), *all_report(30, topic_id="B")]
    *_, absent, last = agreed_states(*reports)
    assert absent.since == 20
    assert (last.since, last.was_known, last.was_known_id, last.known_id) == (30, True, "A", "B")


def test_lower_epoch_is_agreed_without_topic_ids_if_most_report_it() -> None:
    *_, last = agreed_states(*all_report(10, epoch=7, topic_id=None), *all_report(30, topic_id=None))
    assert last.since == 30


def test_vote_is_repeated_when_broker_stops_responding() -> None:
    periods = [(1, 0, 50), (2, 0, 50), (3, 0, 1000)]
    *_, last = agreed_states(*all_report(10), Report(20, 3, isr=[1, 3]), periods=periods)
    assert (last.row, last.since) == (3, 50)


def test_added_replicas_are_not_out_of_sync() -> None:
    moving = {"replicas": [4, 5, 1, 2, 3], "epoch": 1}
    reports = [*all_report(10), *all_report(20, **moving), *all_report(30, isr=[1, 2, 3, 4], **moving)]
    done = all_report(40, replicas=[4, 5], isr=[4, 5], leader=4, epoch=2)
    _, begun, one_there, over = agreed_states(*reports, *done)
    assert (begun.adding, begun.out_of_sync, begun.expanded) == ((4, 5), (), True)
    assert (one_there.adding, one_there.out_of_sync) == ((5,), ())
    assert (over.adding, over.was_expanded, over.expanded) == ((), True, False)


def test_replica_that_fails_during_reassignment_is_out_of_sync() -> None:
    moving = {"replicas": [4, 1, 2, 3], "epoch": 1}
    *_, last = agreed_states(*all_report(10), *all_report(20, **moving), *all_report(30, isr=[1, 2], **moving))
    assert (last.adding, last.out_of_sync) == ((4,), (3,))


def test_partition_without_leader_is_electing_only_under_unchanged_epoch() -> None:
    reports = [*all_report(10), *all_report(20, leader=-1), *all_report(25, leader=-1, offline=[1])]
    _, first, second, third = agreed_states(*reports, *all_report(30, leader=-1, epoch=1, offline=[1]))
    assert [state.electing for state in (first, second, third)] == [True, True, False]
    assert [state.previous_leader for state in (first, second, third)] == [1, 1, 1]


def test_fold_resumes_from_agreed_state() -> None:
    reports = [*all_report(10), *all_report(20, isr=[1, 2]), *all_report(30, isr=[1])]
    whole = agreed_states(*reports)
    views = [Report(20, broker, isr=[1, 2], role=Role.LAST_REPORT) for broker in (1, 2, 3)]
    before = AgreedState(
        0, 20, first_reported_at=20, reported_by=1, reports=[(1, 20)], last_leader=1, out_of_sync=(3,), carried=True
    )
    rest = agreed_states(Report(20, -1, isr=[1, 2], role=Role.AGREED), *views, *reports[6:], resumed=before)
    assert [(state.since, state.until, state.out_of_sync) for state in rest] == [
        (state.since, state.until, state.out_of_sync) for state in whole[1:]
    ]
    assert [state.carried for state in rest] == [True, False]


def test_reports_exclude_brokers_that_were_unreachable_at_first_report() -> None:
    periods = [(1, 0, 1000), (2, 0, 1000), (3, 0, 15), (3, 60, 1000)]
    reports = [*all_report(10), Report(20, 1, isr=[1, 2]), Report(21, 2, isr=[1, 2]), Report(60, 3, isr=[1, 2])]
    *_, last = agreed_states(*reports, periods=periods)
    assert last.reports == [(1, 20), (2, 21)]


def test_report_without_topic_id_is_of_the_known_topic() -> None:
    """Metadata before version 10 has no topic ids."""
    old_version = [Report(20, 1, topic_id=None), Report(21, 2, topic_id=None), Report(22, 3, topic_id=None)]

    (only,) = agreed_states(*all_report(10), *old_version)

    assert only.topic_id == "A"


def test_topic_keeps_its_id_while_only_old_versions_report_a_change() -> None:
    changed = [Report(20, broker, leader=2, epoch=1, topic_id=None) for broker in (1, 2, 3)]

    first, second = agreed_states(*all_report(10), *changed)

    assert (first.topic_id, second.topic_id, second.was_topic_id, second.previous_leader) == ("A", "A", "A", 1)


def test_reports_without_topic_id_count_for_the_most_reported_topic() -> None:
    recreated = [Report(20, 1, topic_id="B"), Report(20, 2, topic_id=None)]

    *_, last = agreed_states(*all_report(10), *recreated)

    assert (last.topic_id, last.since) == ("B", 20)
