"""From signals to incidents: each rule by itself. Times are seconds in these stories, microseconds in signals."""

from __future__ import annotations

from typing import Any

from kwire.spark.gold.diagnosis import Incident, Signal, diagnose

SECOND = 1_000_000


def signal(kind: str, at: float, broker: int = -1, **more: Any) -> Signal:
    not_before = more.pop("not_before", at - 0.5)
    return Signal(
        kind, round(at * SECOND), None if not_before is None else round(not_before * SECOND), broker=broker, **more
    )


def story(*seen: Signal, interval: float = 0.5, end: float = 200) -> list[Incident]:
    rhythm = {"interval_us": str(round(interval * SECOND)), "end": str(round(end * SECOND))}
    heard = [signal("heard", 0.0, broker, reported_by=broker) for broker in (1, 2, 3)]
    return diagnose([signal("rhythm", 0, detail=rhythm), *heard, *seen])


def failed(at: float, last_answer: float | None, broker: int = 2, failure: str = "refused") -> list[Signal]:
    first = signal("failed", at, broker, not_before=last_answer, detail={"failure": failure})
    return [first, signal("failed", at + 0.5, broker, not_before=last_answer, detail={"failure": failure})]


def told(incidents: list[Incident]) -> list[tuple[str, int | None]]:
    return [(incident.kind, incident.broker_id) for incident in incidents]


def gone(at: float, broker: int = 2) -> list[Signal]:
    return [signal("unlisted", at + 0.1 * teller, broker, reported_by=teller) for teller in (1, 3)]


def listed(at: float, broker: int = 2) -> list[Signal]:
    return [signal("listed", at + 0.1 * teller, broker, reported_by=teller) for teller in (1, 3)]


def lost_leaders(at: float, broker: int = 2) -> list[Signal]:
    return [
        signal("moved", at, broker, other=1, reported_by=1, partitions=30, topics=("a", "b")),
        signal("isr_left", at, broker, other=1, reported_by=1, partitions=90, topics=("a", "b", "c")),
        signal("ailing", at, broker, reported_by=1, partitions=90, topics=("a", "b", "c")),
    ]


def well(at: float, broker: int = 2) -> list[Signal]:
    return [signal("healed", at, broker, reported_by=1, partitions=90, topics=("a", "b", "c"))]


def test_a_single_poll_has_no_rhythm_and_tells_no_story() -> None:
    assert diagnose([signal("rhythm", 0, detail={"end": "0"}), signal("heard", 0, 1, reported_by=1)]) == []


def test_leaders_that_stay_until_the_session_ends_mean_a_kill() -> None:
    killed = [*failed(10, 9.5), *gone(28), *lost_leaders(28)]
    back = [signal("answered", 60, 2, reported_by=2, not_before=59.5), *listed(60), *well(61)]
    loss, restart = story(*killed, *back)
    assert told([loss, restart]) == [("broker_killed", 2), ("broker_restarted", 2)]
    assert (loss.began_at, loss.first_sign, loss.first_sign_at) == (9_500_000, "silence", 10_000_000)
    assert (loss.leaders_moved, loss.under_replicated, loss.topics) == (30, 90, {"a", "b", "c"})
    assert loss.ended_at == restart.ended_at == 61 * SECOND
    assert list(loss.seen_at) == ["isr_shrink", "leaders_moved", "silence", "gone_from_brokers"]


def test_a_restarted_broker_that_does_not_list_itself_yet_is_not_gone_again() -> None:
    killed = [*failed(10, 9.5), *gone(28), *lost_leaders(28)]
    unaware = [signal("unlisted", 60, 2, reported_by=2, not_before=9.5), signal("listed", 61, 2, reported_by=2)]
    back = [signal("answered", 60, 2, reported_by=2, not_before=59.5), *listed(60.4), *well(61)]
    assert told(story(*killed, *unaware, *back)) == [("broker_killed", 2), ("broker_restarted", 2)]


def test_leaders_that_leave_at_once_mean_a_shutdown_in_order() -> None:
    assert told(story(*failed(10, 9.5), *lost_leaders(10.4), *gone(10.6))) == [("controlled_shutdown", 2)]


def test_so_do_leaders_that_leave_a_broker_that_still_answers() -> None:
    (shutdown,) = story(*lost_leaders(10), *failed(12.5, 12), *gone(12.4))
    assert (shutdown.kind, shutdown.first_sign_at, shutdown.began_at) == ("controlled_shutdown", 10_000_000, 9_500_000)


def test_connections_that_stay_open_without_an_answer_mean_a_stopped_process() -> None:
    stopped = [*failed(12, 9.5, failure="unanswered"), *gone(22), *lost_leaders(22)]
    woken = [signal("answered", 25, 2, reported_by=2), *listed(26), *well(27)]
    assert told(story(*stopped, *woken)) == [("broker_paused", 2), ("broker_resumed", 2)]


def test_one_failed_poll_is_nothing() -> None:
    first, _ = failed(10, 9.5)
    assert story(first, signal("answered", 10.5, 2, reported_by=2)) == []


def test_one_failed_poll_with_another_sign_is_something() -> None:
    first, _ = failed(60, 0)
    answered = signal("answered", 120, 2, reported_by=2, not_before=60)
    assert told(story(first, *lost_leaders(60.1), answered, *well(120.1), interval=60, end=300))[0][1] == 2


def test_polls_too_rare_to_see_a_difference_leave_the_cause_open() -> None:
    seen = [*failed(120, 60), signal("moved", 120.1, 2, other=1, reported_by=1, not_before=60.1, partitions=3)]
    assert told(story(*seen, *gone(120.1), interval=60, end=600)) == [("broker_lost", 2)]


def test_a_broker_that_is_gone_when_polls_begin_went_nobody_knows_how() -> None:
    assert told(story(*failed(0.3, None))) == [("broker_lost", 2)]


def test_a_broker_that_is_not_polled_is_missed_by_the_others() -> None:
    missed = [
        signal("isr_left", 7, 2, other=1, reported_by=1, partitions=5),
        signal("ailing", 7, 2, reported_by=1, partitions=5),
    ]
    (loss,) = story(*missed, *gone(18))
    assert (loss.kind, loss.first_sign, loss.first_sign_at) == ("broker_lost", "isr_shrink", 7 * SECOND)


def test_one_of_three_who_does_not_list_a_broker_is_wrong() -> None:
    assert story(signal("unlisted", 10, 2, reported_by=1)) == []


def test_a_broker_that_goes_twice_is_two_incidents() -> None:
    first = [
        *failed(10, 9.5),
        *gone(28),
        *lost_leaders(28),
        signal("answered", 60, 2, reported_by=2),
        *listed(60),
        *well(61),
    ]
    second = [*failed(100, 99.5), *gone(118), *lost_leaders(118)]
    assert told(story(*first, *second)) == [("broker_killed", 2), ("broker_restarted", 2), ("broker_killed", 2)]


def test_the_controller_follows_the_death_of_its_broker() -> None:
    moved = [
        signal("controller", 28.2, 3, other=1, reported_by=3),
        signal("controller", 28.4, 3, other=1, reported_by=2),
    ]
    electing = signal("electing", 28, 1, reported_by=2, partitions=80)
    loss, controller = story(*failed(10, 9.5, broker=1), *gone(28, broker=1), electing, *moved)
    assert (loss.electing, loss.offline) == (80, 0)
    assert controller.kind == "controller_moved"
    assert controller.caused_by is loss
    assert controller.attributes == {"from": "1", "to": "3"}


def test_a_woken_broker_that_learns_of_the_controller_late_is_no_news() -> None:
    moved = [signal("controller", 28, 3, other=1, reported_by=3), signal("controller", 90, 3, other=1, reported_by=2)]
    assert told(story(*moved)) == [("controller_moved", 3)]


def appeared(at: float, topic: str, topic_id: str = "1", partitions: int = 6, **detail: str) -> Signal:
    return signal(
        "appeared", at, topic=topic, topics=(topic,), partitions=partitions, detail={"topic_id": topic_id, **detail}
    )


def vanished(at: float, topic: str, topic_id: str = "1", partitions: int = 6, **detail: str) -> Signal:
    return signal(
        "vanished", at, topic=topic, topics=(topic,), partitions=partitions, detail={"topic_id": topic_id, **detail}
    )


def test_topics_that_trickle_in_were_made_together() -> None:
    (made,) = story(appeared(10, "a"), appeared(11, "b", partitions=2), appeared(11.5, "b", partitions=4))
    assert (made.kind, made.topics, made.partitions, made.ended_at) == ("topic_created", {"a", "b"}, 12, 11_500_000)


def test_topics_of_the_first_answer_were_there_before() -> None:
    (grown,) = story(appeared(0, "a", initial="true"), appeared(20, "a", partitions=3))
    assert (grown.kind, grown.partitions) == ("partitions_added", 3)


def test_a_topic_that_goes_and_comes_with_another_id_was_made_anew() -> None:
    seen = [vanished(10, "a", before="6"), vanished(10.5, "b", before="6")]
    deleted, anew = story(*seen, appeared(14, "a", "2", known="true", was_topic_id="1"))
    assert (deleted.kind, deleted.topics) == ("topic_deleted", {"a", "b"})
    assert (anew.kind, anew.attributes) == ("topic_recreated", {"a: topic_id": "1 -> 2"})


def test_between_two_polls_a_topic_can_be_deleted_and_made_anew() -> None:
    seen = [vanished(60, "a", before="6"), appeared(60, "a", "2", known="true", was_topic_id="1")]
    assert told(story(*seen, interval=60)) == [("topic_recreated", None)]


def test_a_topic_that_flickers_was_never_gone() -> None:
    assert story(vanished(10, "a", before="6"), appeared(10.5, "a", known="true", was_topic_id="1", before="0")) == []


def test_a_reassignment_lasts_until_the_last_replica_is_there() -> None:
    begun = [
        signal("replicas", 10, partitions=5, topics=("a",), detail={"step": "start"}),
        signal("adding", 10, partitions=5, topics=("a",)),
    ]
    done = [
        signal("replicas", 39, partitions=5, topics=("a",), detail={"step": "end"}),
        signal("reassigned", 39, 1, other=2, partitions=5, topics=("a",)),
        signal("added", 39, partitions=5, topics=("a",)),
    ]
    (under_way,) = story(*begun)
    assert (under_way.kind, under_way.ended_at) == ("reassignment", None)
    (over,) = story(*begun, *done)
    assert (over.began_at, over.ended_at, over.partitions, over.leaders_moved) == (9_500_000, 39 * SECOND, 5, 5)


def test_leaders_that_go_to_preferred_replicas_were_elected() -> None:
    (elected,) = story(
        signal("elected", 10, 1, other=2, partitions=41), signal("elected", 10, 3, other=2, partitions=39)
    )
    assert (elected.kind, elected.partitions) == ("preferred_election", 80)
    assert elected.attributes == {"moved_1_to_2": "41", "moved_3_to_2": "39"}


def test_a_follower_that_lags_while_it_answers_is_an_incident_of_its_own() -> None:
    lag = [signal("isr_left", 10, 3, other=1, partitions=4, topics=("a",)), signal("ailing", 10, 3, partitions=4)]
    (lagging,) = story(*lag, signal("healed", 30, 3, partitions=4))
    assert (lagging.kind, lagging.broker_id, lagging.ended_at) == ("replica_lagging", 3, 30 * SECOND)


def test_a_woken_leader_that_throws_its_followers_out_for_a_moment_is_part_of_its_own_story() -> None:
    stopped = failed(12, 9.5, failure="unanswered")
    woken = [signal("answered", 25, 2, reported_by=2), signal("isr_left", 25.2, 3, other=2, partitions=9)]
    assert told(story(*stopped, *woken, signal("healed", 40, 3, partitions=9))) == [
        ("broker_paused", 2),
        ("broker_resumed", 2),
    ]


def config(at: float, scope: str, resource: str, key: str, value: str, reported_by: int = 1) -> Signal:
    detail = {"scope": scope, "resource": resource, "key": key, "value": value}
    return signal("config", at, reported_by=reported_by, not_before=at - 10, detail=detail)


def test_what_one_answer_shows_was_configured_together() -> None:
    seen = [config(10, "topic", "a", "retention.ms", "1"), config(10, "topic", "b", "retention.ms", "2")]
    topics, cluster = story(*seen, config(10.1, "cluster", "", "log.retention.ms", "3"))
    assert (topics.topics, topics.attributes["a: retention.ms"]) == ({"a", "b"}, "(unset) -> 1")
    assert (cluster.attributes["scope"], cluster.attributes["log.retention.ms"]) == ("cluster", "(unset) -> 3")


def test_a_throttle_belongs_to_the_reassignment_it_was_set_for() -> None:
    throttle = config(25, "topic", "a", "leader.replication.throttled.replicas", "*")
    move = [
        signal("replicas", 20, partitions=5, topics=("a",), detail={"step": "start"}),
        signal("adding", 20, partitions=5, topics=("a",)),
    ]
    throttled, moved = story(throttle, *move)
    assert (throttled.kind, throttled.caused_by) == ("config_changed", moved)


def test_an_incident_keeps_its_name() -> None:
    (once,) = story(*failed(10, 9.5))
    (again,) = story(*failed(10, 9.5), end=300)
    assert once.id("c") == again.id("c")
    assert once.id("c") != once.id("d")
    assert len(once.id("c")) == 12
