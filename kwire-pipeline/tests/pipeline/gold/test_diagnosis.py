"""Each rule of the diagnosis by itself. Times are seconds in these tests, and microseconds in signals."""

from __future__ import annotations

from typing import Any

from kwire_pipeline.gold.diagnosis import Incident, Signal, SignalKind, diagnose

SECOND = 1_000_000


def signal(kind: SignalKind, at: float, broker_id: int = -1, **more: Any) -> Signal:
    not_before = more.pop("not_before", at - 0.5)
    return Signal(
        kind,
        round(at * SECOND),
        None if not_before is None else round(not_before * SECOND),
        broker_id=broker_id,
        **more,
    )


def diagnosed(*seen: Signal, interval: float = 0.5, end: float = 200) -> list[Incident]:
    poll_interval = {"interval_us": str(round(interval * SECOND)), "end": str(round(end * SECOND))}
    responses = [signal(SignalKind.FIRST_RESPONSE, 0.0, broker, reported_by=broker) for broker in (1, 2, 3)]
    return diagnose([signal(SignalKind.POLL_INTERVAL, 0, detail=poll_interval), *responses, *seen])


def failed(at: float, last_answer: float | None, broker: int = 2, failure: str = "refused") -> list[Signal]:
    first = signal(SignalKind.POLL_FAILED, at, broker, not_before=last_answer, detail={"failure": failure})
    return [
        first,
        signal(SignalKind.POLL_FAILED, at + 0.5, broker, not_before=last_answer, detail={"failure": failure}),
    ]


def kinds(incidents: list[Incident]) -> list[tuple[str, int | None]]:
    return [(incident.kind, incident.broker_id) for incident in incidents]


def unlisted(at: float, broker: int = 2) -> list[Signal]:
    return [
        signal(SignalKind.BROKER_UNLISTED, at + 0.1 * reporter, broker, reported_by=reporter) for reporter in (1, 3)
    ]


def listed(at: float, broker: int = 2) -> list[Signal]:
    return [signal(SignalKind.BROKER_LISTED, at + 0.1 * reporter, broker, reported_by=reporter) for reporter in (1, 3)]


def lost_leaders(at: float, broker: int = 2) -> list[Signal]:
    return [
        signal(SignalKind.LEADER_LOST, at, broker, other_broker_id=1, reported_by=1, partitions=30, topics=("a", "b")),
        signal(
            SignalKind.ISR_LEFT, at, broker, other_broker_id=1, reported_by=1, partitions=90, topics=("a", "b", "c")
        ),
        signal(SignalKind.OUT_OF_SYNC, at, broker, reported_by=1, partitions=90, topics=("a", "b", "c")),
    ]


def back_in_sync(at: float, broker: int = 2) -> list[Signal]:
    return [signal(SignalKind.BACK_IN_SYNC, at, broker, reported_by=1, partitions=90, topics=("a", "b", "c"))]


def test_single_poll_gives_no_incident() -> None:
    assert (
        diagnose(
            [
                signal(SignalKind.POLL_INTERVAL, 0, detail={"end": "0"}),
                signal(SignalKind.FIRST_RESPONSE, 0, 1, reported_by=1),
            ]
        )
        == []
    )


def test_broker_is_killed_if_leaders_stay_until_session_times_out() -> None:
    killed = [*failed(10, 9.5), *unlisted(28), *lost_leaders(28)]
    back = [signal(SignalKind.POLL_RECOVERED, 60, 2, reported_by=2, not_before=59.5), *listed(60), *back_in_sync(61)]
    loss, restart = diagnosed(*killed, *back)
    assert kinds([loss, restart]) == [("broker_killed", 2), ("broker_restarted", 2)]
    assert (loss.began_at, loss.first_sign, loss.first_sign_at) == (9_500_000, "poll_failed", 10_000_000)
    assert (loss.leaders_moved.count, loss.under_replicated.count, loss.topics) == (30, 90, {"a", "b", "c"})
    assert loss.ended_at == restart.ended_at == 61 * SECOND
    assert list(loss.seen_at) == ["isr_shrink", "leaders_moved", "poll_failed", "unlisted"]


def test_restarted_broker_that_does_not_list_itself_yet_gives_no_second_outage() -> None:
    killed = [*failed(10, 9.5), *unlisted(28), *lost_leaders(28)]
    unaware = [
        signal(SignalKind.BROKER_UNLISTED, 60, 2, reported_by=2, not_before=9.5),
        signal(SignalKind.BROKER_LISTED, 61, 2, reported_by=2),
    ]
    back = [signal(SignalKind.POLL_RECOVERED, 60, 2, reported_by=2, not_before=59.5), *listed(60.4), *back_in_sync(61)]
    assert kinds(diagnosed(*killed, *unaware, *back)) == [("broker_killed", 2), ("broker_restarted", 2)]


def test_broker_shut_down_if_leaders_move_at_once() -> None:
    assert kinds(diagnosed(*failed(10, 9.5), *lost_leaders(10.4), *unlisted(10.6))) == [("controlled_shutdown", 2)]


def test_broker_shut_down_if_leaders_move_while_it_responds() -> None:
    (shutdown,) = diagnosed(*lost_leaders(10), *failed(12.5, 12), *unlisted(12.4))
    assert (shutdown.kind, shutdown.first_sign_at, shutdown.began_at) == ("controlled_shutdown", 10_000_000, 9_500_000)


def test_broker_that_lagged_for_an_hour_is_killed() -> None:
    """A leader that it gave up long ago does not make the end of its process a shutdown."""
    at = 3600
    killed = [*failed(at, at - 0.5), *unlisted(at + 18)]

    lag, loss = diagnosed(*lost_leaders(10), *killed, end=at + 60)[-2:]

    assert kinds([lag, loss]) == [("replica_lagging", 2), ("broker_killed", 2)]
    assert (loss.began_at, loss.first_sign_at) == ((at - 0.5) * SECOND, at * SECOND)


def test_broker_is_paused_if_polls_time_out() -> None:
    stopped = [*failed(12, 9.5, failure="timed_out"), *unlisted(22), *lost_leaders(22)]
    woken = [signal(SignalKind.POLL_RECOVERED, 25, 2, reported_by=2), *listed(26), *back_in_sync(27)]
    assert kinds(diagnosed(*stopped, *woken)) == [("broker_paused", 2), ("broker_resumed", 2)]


def test_lasting_outage_that_no_broker_reports_says_so() -> None:
    (loss,) = diagnosed(*failed(10, 9.5))

    assert (loss.kind, loss.ended_at) == ("broker_killed", None)
    assert loss.cause == "its process ended, and no other broker has reported its loss yet"


def test_one_failed_poll_gives_no_incident() -> None:
    first, _ = failed(10, 9.5)
    assert diagnosed(first, signal(SignalKind.POLL_RECOVERED, 10.5, 2, reported_by=2)) == []


def test_one_failed_poll_with_another_sign_gives_incident() -> None:
    first, _ = failed(60, 0)
    answered = signal(SignalKind.POLL_RECOVERED, 120, 2, reported_by=2, not_before=60)
    assert kinds(diagnosed(first, *lost_leaders(60.1), answered, *back_in_sync(120.1), interval=60, end=300))[0][1] == 2


def test_broker_is_lost_if_polls_are_too_rare_to_distinguish_causes() -> None:
    seen = [
        *failed(120, 60),
        signal(SignalKind.LEADER_LOST, 120.1, 2, other_broker_id=1, reported_by=1, not_before=60.1, partitions=3),
    ]
    assert kinds(diagnosed(*seen, *unlisted(120.1), interval=60, end=600)) == [("broker_lost", 2)]


def test_broker_is_lost_if_unavailable_when_polling_starts() -> None:
    assert kinds(diagnosed(*failed(0.3, None))) == [("broker_lost", 2)]


def test_outage_of_unpolled_broker_follows_from_other_brokers() -> None:
    missed = [
        signal(SignalKind.ISR_LEFT, 7, 2, other_broker_id=1, reported_by=1, partitions=5),
        signal(SignalKind.OUT_OF_SYNC, 7, 2, reported_by=1, partitions=5),
    ]
    (loss,) = diagnosed(*missed, *unlisted(18))
    assert (loss.kind, loss.first_sign, loss.first_sign_at) == ("broker_lost", "isr_shrink", 7 * SECOND)


def test_broker_missing_at_one_of_three_brokers_gives_no_incident() -> None:
    assert diagnosed(signal(SignalKind.BROKER_UNLISTED, 10, 2, reported_by=1)) == []


def test_two_outages_of_one_broker_are_two_incidents() -> None:
    first = [
        *failed(10, 9.5),
        *unlisted(28),
        *lost_leaders(28),
        signal(SignalKind.POLL_RECOVERED, 60, 2, reported_by=2),
        *listed(60),
        *back_in_sync(61),
    ]
    second = [*failed(100, 99.5), *unlisted(118), *lost_leaders(118)]
    assert kinds(diagnosed(*first, *second)) == [("broker_killed", 2), ("broker_restarted", 2), ("broker_killed", 2)]


def test_controller_move_is_caused_by_outage() -> None:
    moved = [
        signal(SignalKind.CONTROLLER_CHANGED, 28.2, 3, other_broker_id=1, reported_by=3),
        signal(SignalKind.CONTROLLER_CHANGED, 28.4, 3, other_broker_id=1, reported_by=2),
    ]
    electing = signal(SignalKind.ELECTING, 28, 1, reported_by=2, partitions=80)
    loss, controller = diagnosed(*failed(10, 9.5, broker=1), *unlisted(28, broker=1), electing, *moved)
    assert (loss.electing.count, loss.offline.count) == (80, 0)
    assert controller.kind == "controller_moved"
    assert controller.caused_by is loss
    assert controller.attributes == {"from": "1", "to": "3"}


def test_late_report_of_controller_move_is_ignored() -> None:
    moved = [
        signal(SignalKind.CONTROLLER_CHANGED, 28, 3, other_broker_id=1, reported_by=3),
        signal(SignalKind.CONTROLLER_CHANGED, 90, 3, other_broker_id=1, reported_by=2),
    ]
    assert kinds(diagnosed(*moved)) == [("controller_moved", 3)]


def appeared(at: float, topic: str, topic_id: str = "1", partitions: int = 6, **detail: str) -> Signal:
    return signal(
        SignalKind.PARTITIONS_APPEARED,
        at,
        topic=topic,
        topics=(topic,),
        partitions=partitions,
        detail={"topic_id": topic_id, **detail},
    )


def vanished(at: float, topic: str, topic_id: str = "1", partitions: int = 6, **detail: str) -> Signal:
    return signal(
        SignalKind.PARTITIONS_VANISHED,
        at,
        topic=topic,
        topics=(topic,),
        partitions=partitions,
        detail={"topic_id": topic_id, **detail},
    )


def test_topics_created_within_settling_time_are_one_incident() -> None:
    (made,) = diagnosed(appeared(10, "a"), appeared(11, "b", partitions=2), appeared(11.5, "b", partitions=4))
    assert (made.kind, made.topics, made.partitions.count, made.ended_at) == (
        "topic_created",
        {"a", "b"},
        12,
        11_500_000,
    )


def test_topics_of_first_response_existed_before() -> None:
    (grown,) = diagnosed(appeared(0, "a", initial="true"), appeared(20, "a", partitions=3))
    assert (grown.kind, grown.partitions.count) == ("partitions_added", 3)


def test_topic_that_reappears_with_another_id_is_recreated() -> None:
    seen = [vanished(10, "a", before="6"), vanished(10.5, "b", before="6")]
    deleted, anew = diagnosed(*seen, appeared(14, "a", "2", known="true", was_topic_id="1"))
    assert (deleted.kind, deleted.topics) == ("topic_deleted", {"a", "b"})
    assert (anew.kind, anew.attributes) == ("topic_recreated", {"a: topic_id": "1 -> 2"})


def test_topic_can_be_recreated_between_two_polls() -> None:
    seen = [vanished(60, "a", before="6"), appeared(60, "a", "2", known="true", was_topic_id="1")]
    assert kinds(diagnosed(*seen, interval=60)) == [("topic_recreated", None)]


def test_topic_that_reappears_unchanged_gives_no_incident() -> None:
    assert (
        diagnosed(vanished(10, "a", before="6"), appeared(10.5, "a", known="true", was_topic_id="1", before="0")) == []
    )


def test_reassignment_lasts_until_last_replica_is_in_sync() -> None:
    begun = [
        signal(SignalKind.REPLICAS_CHANGED, 10, partitions=5, topics=("a",), detail={"step": "start"}),
        signal(SignalKind.ADDING_REPLICAS, 10, partitions=5, topics=("a",)),
    ]
    done = [
        signal(SignalKind.REPLICAS_CHANGED, 39, partitions=5, topics=("a",), detail={"step": "end"}),
        signal(SignalKind.LEADER_REASSIGNED, 39, 1, other_broker_id=2, partitions=5, topics=("a",)),
        signal(SignalKind.REPLICAS_ADDED, 39, partitions=5, topics=("a",)),
    ]
    (under_way,) = diagnosed(*begun)
    assert (under_way.kind, under_way.ended_at) == ("reassignment", None)
    (over,) = diagnosed(*begun, *done)
    assert (over.began_at, over.ended_at, over.partitions.count, over.leaders_moved.count) == (
        9_500_000,
        39 * SECOND,
        5,
        5,
    )


def test_leaders_that_move_to_preferred_replicas_are_preferred_election() -> None:
    (elected,) = diagnosed(
        signal(SignalKind.PREFERRED_LEADER_ELECTED, 10, 1, other_broker_id=2, partitions=41),
        signal(SignalKind.PREFERRED_LEADER_ELECTED, 10, 3, other_broker_id=2, partitions=39),
    )
    assert (elected.kind, elected.partitions.count) == ("preferred_election", 80)
    assert elected.attributes == {"moved_1_to_2": "41", "moved_3_to_2": "39"}


def test_follower_that_lags_while_broker_responds_is_replica_lagging() -> None:
    lag = [
        signal(SignalKind.ISR_LEFT, 10, 3, other_broker_id=1, partitions=4, topics=("a",)),
        signal(SignalKind.OUT_OF_SYNC, 10, 3, partitions=4),
    ]
    (lagging,) = diagnosed(*lag, signal(SignalKind.BACK_IN_SYNC, 30, 3, partitions=4))
    assert (lagging.kind, lagging.broker_id, lagging.ended_at) == ("replica_lagging", 3, 30 * SECOND)


def test_isr_shrink_by_resumed_leader_belongs_to_its_outage() -> None:
    stopped = failed(12, 9.5, failure="timed_out")
    woken = [
        signal(SignalKind.POLL_RECOVERED, 25, 2, reported_by=2),
        signal(SignalKind.ISR_LEFT, 25.2, 3, other_broker_id=2, partitions=9),
    ]
    assert kinds(diagnosed(*stopped, *woken, signal(SignalKind.BACK_IN_SYNC, 40, 3, partitions=9))) == [
        ("broker_paused", 2),
        ("broker_resumed", 2),
    ]


def config(at: float, scope: str, resource: str, key: str, value: str, reported_by: int = 1) -> Signal:
    detail = {"scope": scope, "resource": resource, "key": key, "value": value}
    return signal(SignalKind.CONFIG_CHANGED, at, reported_by=reported_by, not_before=at - 10, detail=detail)


def test_config_changes_of_one_response_are_one_incident() -> None:
    seen = [config(10, "topic", "a", "retention.ms", "1"), config(10, "topic", "b", "retention.ms", "2")]
    topics, cluster = diagnosed(*seen, config(10.1, "cluster", "", "log.retention.ms", "3"))
    assert (topics.topics, topics.attributes["a: retention.ms"]) == ({"a", "b"}, "(unset) -> 1")
    assert (cluster.attributes["scope"], cluster.attributes["log.retention.ms"]) == ("cluster", "(unset) -> 3")


def test_throttle_is_caused_by_reassignment() -> None:
    throttle = config(25, "topic", "a", "leader.replication.throttled.replicas", "*")
    move = [
        signal(SignalKind.REPLICAS_CHANGED, 20, partitions=5, topics=("a",), detail={"step": "start"}),
        signal(SignalKind.ADDING_REPLICAS, 20, partitions=5, topics=("a",)),
    ]
    throttled, moved = diagnosed(throttle, *move)
    assert (throttled.kind, throttled.caused_by) == ("config_changed", moved)


def test_incident_id_is_stable() -> None:
    (once,) = diagnosed(*failed(10, 9.5))
    (again,) = diagnosed(*failed(10, 9.5), end=300)
    assert once.id("c") == again.id("c")
    assert once.id("c") != once.id("d")
    assert len(once.id("c")) == 12


def test_partition_counts_once_however_often_it_is_reported() -> None:
    again = [
        signal(SignalKind.OUT_OF_SYNC, at, 2, reported_by=1, partitions=3, partition_hashes=(7, 8, 9))
        for at in (28, 40, 50)
    ]
    other = signal(SignalKind.OUT_OF_SYNC, 51, 2, reported_by=1, partitions=1, partition_hashes=(10,))

    (loss,) = diagnosed(*failed(10, 9.5), *unlisted(28), *again, other)

    assert (loss.under_replicated.count, loss.partitions.count) == (4, 4)


def recovered(at: float, broker: int) -> Signal:
    return signal(SignalKind.POLL_RECOVERED, at, broker, reported_by=broker)


def test_total_outage_is_one_incident_of_the_cluster() -> None:
    dead = [*failed(10.0, 9.5, 1), *failed(10.2, 9.7, 2), *failed(10.4, 9.9, 3)]

    (lasting,) = diagnosed(*dead)
    (over,) = diagnosed(*dead, *(recovered(60 + broker / 10, broker) for broker in (1, 2, 3)))

    assert (lasting.kind, lasting.broker_id, lasting.ended_at) == ("cluster_unreachable", None, None)
    assert (lasting.began_at, lasting.first_sign_at) == (9_900_000, 10_400_000)
    assert lasting.attributes == {"brokers": "1, 2, 3", "failures": "refused"}
    assert (over.kind, over.ended_at) == ("cluster_unreachable", 60_100_000)


def test_outage_before_and_after_total_outage_is_of_its_broker() -> None:
    killed = [*failed(10, 9.5), *unlisted(28), *lost_leaders(28)]
    total = [*failed(100.0, 99.5, 1), *failed(100.2, 99.7, 3)]
    later = [recovered(120, 1), recovered(150, 3), recovered(170, 2)]

    found = diagnosed(*killed, *total, *later)

    assert kinds(found)[:3] == [("broker_killed", 2), ("broker_lost", 3), ("cluster_unreachable", None)]
    assert found[1].caused_by is found[2]
    assert all(incident.broker_id != 1 for incident in found)


def test_endpoint_that_never_responded_is_not_a_broker() -> None:
    poll_interval = signal(SignalKind.POLL_INTERVAL, 0, detail={"interval_us": "500000", "end": "200000000"})

    (only,) = diagnose([poll_interval, *failed(1, None, broker=-1)])

    assert (only.kind, only.broker_id) == ("cluster_unreachable", None)
    assert diagnosed(*failed(1, None, broker=-1)) == []


def test_one_failed_poll_of_every_broker_gives_no_incident() -> None:
    hiccup = [failed(10 + broker / 10, 9.5, broker)[0] for broker in (1, 2, 3)]

    assert diagnosed(*hiccup, *(recovered(10.5 + broker / 10, broker) for broker in (1, 2, 3))) == []
