"""The fold of committed offsets and log ends to lag and stalls. Times are seconds here, microseconds in the fold."""

from __future__ import annotations

from kwire_pipeline.gold.partition_lag import LOG_ENDS_KEPT, Event, LagSample, PartitionLagHistory, Stall

SECOND = 1_000_000
GROUP = "billing"


def end(at: float, offset: int) -> Event:
    return Event(round(at * SECOND), 1, None, offset)


def commit(at: float, offset: int, broker: int = 1) -> Event:
    return Event(round(at * SECOND), broker, GROUP, offset)


def left(at: float, broker: int = 1) -> Event:
    return commit(at, 0, broker)._replace(gone=True)


def folded(*events: Event) -> list[LagSample | Stall]:
    lag = PartitionLagHistory()
    return [each for event in events for each in lag.apply(event)]


def stalls(*events: Event) -> list[tuple[float, bool]]:
    """Return the times of stalls, and whether they began."""
    return [(each.at / SECOND, each.stalled) for each in folded(*events) if isinstance(each, Stall)]


def test_lag_is_log_end_without_committed_offset() -> None:
    samples = [each for each in folded(end(0, 10), commit(1, 4), end(2, 20)) if isinstance(each, LagSample)]

    assert [(sample.lag, sample.committed_offset, sample.log_end) for sample in samples] == [(6, 4, 10), (16, 4, 20)]


def test_time_lag_is_age_of_next_record() -> None:
    events = end(0, 10), end(10, 20), end(20, 30), commit(25, 15), commit(26, 30), commit(27, 5)

    ages = [each.time_lag for each in folded(*events) if isinstance(each, LagSample)]

    assert ages == [20 * SECOND, 0, None]  # record 15 was written at 5, and record 5 before the first log end


def test_commit_beyond_last_known_end_has_lag_zero() -> None:
    [_, sample] = folded(end(0, 10), commit(1, 10), commit(2, 12))

    assert isinstance(sample, LagSample)
    assert (sample.lag, sample.log_end, sample.time_lag) == (0, 12, 0)


def test_group_stalls_when_log_grows_and_it_does_not_commit() -> None:
    growing = [end(10 * at, 10 + at) for at in range(1, 6)]

    assert stalls(commit(0, 10), *growing) == [(30, True)]
    assert stalls(commit(0, 10), *growing, commit(60, 12)) == [(30, True), (60, False)]
    assert stalls(commit(0, 10), *growing, left(60)) == [(30, True), (60, False)]
    assert stalls(commit(0, 10), *growing, left(60, broker=2)) == [(30, True)]  # it moved from 2 to 1 before


def test_stall_began_after_last_time_without_lag() -> None:
    growing = [end(100 + 10 * at, 10 + at) for at in range(1, 4)]

    [caught_up] = [each for each in folded(end(0, 10), commit(1, 10), *growing) if isinstance(each, Stall)]
    [lagging] = [each for each in folded(end(0, 10), commit(1, 9), *growing) if isinstance(each, Stall)]

    assert (caught_up.not_before, lagging.not_before) == (110 * SECOND, SECOND)


def test_idle_log_and_frequent_commits_do_not_stall() -> None:
    assert stalls(commit(0, 5), end(1, 10), end(500, 11)) == []
    assert stalls(commit(0, 5), end(1, 10), end(2, 11), end(3, 12), end(4, 13)) == []
    assert stalls(*(event for at in range(0, 100, 10) for event in (end(at, at + 20), commit(at + 5, at)))) == []


def test_deleted_and_recreated_topic_starts_again() -> None:
    events = commit(0, 10), end(10, 11), end(20, 12), end(30, 0), commit(31, 0), end(40, 1), end(50, 2)

    assert stalls(*events) == []


def test_kept_events_restore_the_state() -> None:
    events = [end(0, 0), commit(0, 0)]
    for at in range(1, 3 * LOG_ENDS_KEPT):
        events.append(end(at, at))
        if at % 50 == 0:
            events.append(commit(at, at // 2))
    whole, before, after = PartitionLagHistory(), PartitionLagHistory(), PartitionLagHistory()
    for event in events[:500]:
        list(before.apply(event))
    kept = before.kept_events()
    for event in kept:
        list(after.apply(event))
    found = [each for event in events[500:] for each in after.apply(event)]

    wanted = [each for number, event in enumerate(events) for each in whole.apply(event) if number >= 500]
    assert found == wanted
    assert len(kept) <= LOG_ENDS_KEPT + 2
