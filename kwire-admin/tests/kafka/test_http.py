"""The commands of docs/how-to/http.md on a real broker, through the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.real_kafka import Kafka44


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


def test_change_with_an_idempotency_key_runs_once(kafka44: Kafka44) -> None:
    with ServerProcess(kafka44.bootstrap, "--anonymous", "change") as server:
        path, body = "/api/v1/topics/create", {"names": ["once"], "partitions": 1, "replication_factor": 1}
        first = server.post(path, body, Idempotency_Key="k-1")
        again = server.post(path, body, Idempotency_Key="k-1")
        assert (first.status, first.body) == (again.status, again.body) == (200, again.body)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["x-request-id"] != first.headers["x-request-id"]
        assert server.log().count("ran topics create") == 1
        assert server.post(path, body | {"partitions": 2}, Idempotency_Key="k-1").status == 422
        assert server.post(path, body, Idempotency_Key="two words").status == 400
        # What the broker has refused is final, and what was refused before it ran does not use up its key.
        for _ in range(2):
            assert server.post(path, body, Idempotency_Key="k-2").status == 409
        delete = {"names": ["once"]}
        assert server.post("/api/v1/topics/delete", delete, Idempotency_Key="k-3").status == 428
        assert server.post("/api/v1/topics/delete", delete | {"confirm": True}, Idempotency_Key="k-3").status == 200


def test_verbs_answer_on_a_real_broker(kafka44: Kafka44) -> None:
    """Every verb that reads and requires no parameter."""
    with ServerProcess(kafka44.bootstrap) as server:
        for path, item in server.get("/openapi.json").body["paths"].items():
            operation = item.get("get")
            if operation is None or not path.startswith("/api/v1/") or path.endswith(("/events", "/incidents")):
                continue
            if any(parameter["required"] for parameter in operation["parameters"]):
                continue
            answer = server.get(path)
            # Some need ZooKeeper, an authorizer, or a cluster of nodes, and say so.
            assert answer.status in (200, 207, 404, 409), (path, answer)
            assert ("rows" in answer.body) == (answer.status in (200, 207)), (path, answer)
