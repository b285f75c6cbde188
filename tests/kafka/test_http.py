"""The commands of docs/how-to/http.md on a real broker, through the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from kwire.testing.kafka import Kafka44


def test_topic_is_created_reported_and_deleted(kafka44: Kafka44) -> None:
    with ServerProcess(kafka44.bootstrap, "--anonymous", "change", "--interval", "0.1") as server:
        events = server.events()
        next(events)
        new = {"names": ["over-http"], "partitions": 2, "replication_factor": 1}
        dry = server.post("/api/v1/topics/create", new | {"dry_run": True})
        assert dry.body["rows"] == [{"name": "over-http", "status": "would be created", "attempts": 1}]
        created = server.post("/api/v1/topics/create", new)
        assert (created.status, created.body["rows"][0]["status"]) == (200, "created")
        assert any(name == "topic-added" and data["event"]["topic"] == "over-http" for _, name, data in events)
        again = server.post("/api/v1/topics/create", new)
        assert (again.status, again.body["rows"][0]["error"]["name"]) == (409, "TOPIC_ALREADY_EXISTS")
        assert server.get("/api/v1/reassign-partitions/status").body == {"rows": []}
        snapshot = server.get("/api/v1/reassign-partitions/snapshot").body
        assert snapshot["rows"][0]["file"] == "file"
        plan = {"snapshot": snapshot["files"]["file"], "topic": ["over-http"], "balance": ["count"]}
        assert server.post("/api/v1/reassign-partitions/plan", plan).body["rows"][0]["moves"] == 0
        deleted = server.post("/api/v1/topics/delete", {"names": ["over-http"], "confirm": True})
        assert deleted.body["rows"][0]["status"] == "deleted"
        assert any(name == "topic-removed" and data["event"]["topic"] == "over-http" for _, name, data in events)


def test_verbs_answer_on_a_real_broker(kafka44: Kafka44) -> None:
    """Every verb that reads and requires no parameter."""
    with ServerProcess(kafka44.bootstrap) as server:
        for path, item in server.get("/openapi.json").body["paths"].items():
            operation = item.get("get")
            if operation is None or path.endswith("/events"):
                continue
            if any(parameter["required"] for parameter in operation["parameters"]):
                continue
            answer = server.get(path)
            # Some need a name, an authorizer, or a cluster of nodes, and say so.
            assert answer.status in (200, 207, 400, 409), (path, answer)
            assert ("rows" in answer.body) == (answer.status in (200, 207)), (path, answer)
