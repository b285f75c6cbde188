"""Changes as server-sent events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from kwire.testing import FakeCluster


def test_stream_starts_with_the_state_and_continues_with_changes(server: ServerProcess, cluster: FakeCluster) -> None:
    events = server.events()
    _, name, state = next(events)
    assert (name, state["unreachable"]) == ("state", [])
    cluster.create_topic("streamed", 3)
    added = next(data for _, name, data in events if name == "topic-added" and data["event"]["topic"] == "streamed")
    assert added["text"] == "topic streamed added with 3 partitions"
    assert added["event"]["partitions"] == 3
    assert added["broker_id"] in {1, 2, 3}


def test_reader_that_reconnects_receives_what_it_missed(server: ServerProcess, cluster: FakeCluster) -> None:
    events = server.events()
    position, _, _ = next(events)
    cluster.create_topic("first", 1)
    next(data for _, name, data in events if name == "topic-added" and data["event"]["topic"] == "first")
    events.close()

    again = server.events(last_event_id=position)
    assert next(again)[1] == "state"
    assert any(name == "topic-added" and data["event"]["topic"] == "first" for _, name, data in again)


def test_event_id_of_another_server_is_ignored(server: ServerProcess) -> None:
    assert next(server.events(last_event_id="0badf00d-7"))[1] == "state"
    position, _, _ = next(server.events())
    run_id = position.partition("-")[0]
    for number in ("rubbish", "\xb2", "9" * 5000, "-1", ""):
        assert next(server.events(last_event_id=f"{run_id}-{number}"))[1] == "state"
    assert "Traceback" not in server.log()


def test_broker_that_does_not_respond_is_an_event(server: ServerProcess, cluster: FakeCluster) -> None:
    events = server.events()
    next(events)
    cluster.stop_broker(3)
    lost = next(data for _, name, data in events if name == "broker-unreachable")
    assert (lost["broker_id"], lost["endpoint"]) == (3, cluster.endpoint(3))
    _, _, state = next(server.events())
    assert [row["broker_id"] for row in state["unreachable"]] == [3]
    cluster.start_broker(3)
    back = next(data for _, name, data in events if name == "broker-reachable")
    assert back["text"] == "broker 3 responds again"
