"""Conventions of REST: pages, problem documents, request ids, idempotency keys, and metrics."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import Response

from kwire_admin.http.arguments import PAGING, is_get, offered
from kwire_admin.http.idempotency import MAX_BYTES, MAX_KEYS, MAX_RESPONSE, RETENTION_S, IdempotentResponses
from kwire_admin.http.openapi import served_verbs
from kwire_admin.http.responses import RequestRefused
from tests.http.server_process import ServerProcess
from tests.report.cases import incident, polls, write

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.testing import FakeCluster


def test_no_parameter_has_the_name_of_a_page() -> None:
    assert [
        verb.name for verb in served_verbs() if is_get(verb) for parameter in offered(verb) if parameter.name in PAGING
    ] == []


def test_pages_follow_their_links(server: ServerProcess) -> None:
    """The topics are audit and orders, and topics of other tests."""
    every = [row["name"] for row in server.get("/api/v1/topics/list").body["rows"]]
    names, path = [], "/api/v1/topics/list?limit=1"
    while path:
        answer = server.get(path)
        assert answer.body["total"] == len(every) > 1
        names += [row["name"] for row in answer.body["rows"]]
        path, _, relation = answer.headers.get("link", "").removeprefix("<").partition(">; rel=")
        assert relation in ("", '"next"')
    assert names == every
    assert server.get(f"/api/v1/topics/list?offset={len(every)}").body["rows"] == []
    for wrong in ("limit=0", "limit=x", "limit=10001", "offset=-1", "limit=1&limit=1", "limit=%c2%b2"):
        assert server.get(f"/api/v1/topics/list?{wrong}").status == 400


def test_errors_are_problem_documents(server: ServerProcess) -> None:
    answer = server.get("/api/v1/topics/describe?names=order")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    failure = answer.body["rows"][0]["error"]
    assert answer.body == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": f"order: {failure['message']} (error 3 UNKNOWN_TOPIC_OR_PARTITION)",
        "name": "UNKNOWN_TOPIC_OR_PARTITION",
        "code": 3,
        "rows": [{"name": "order", "error": failure}],
    }


def test_request_ids_are_in_responses_and_the_audit_log(server: ServerProcess) -> None:
    given = server.post("/api/v1/topics/create", {"names": ["a"], "dry_run": True}, X_Request_Id="job-7.1")
    assert given.headers["x-request-id"] == "job-7.1"
    # A fake cluster does not serve CreateTopics.
    assert "topics create as a dry run from 127.0.0.1, request job-7.1: NoCommonVersion" in server.log()
    made = {server.get("/healthz", X_Request_Id=wrong).headers["x-request-id"] for wrong in ("", "a b", "x" * 65)}
    assert len(made) == 3
    assert all(len(id) == 16 for id in made)


def test_change_that_was_not_sent_does_not_use_its_key(server: ServerProcess) -> None:
    for name in ("a", "b"):  # the fake cluster does not serve CreateTopics
        answer = server.post("/api/v1/topics/create", {"names": [name]}, Idempotency_Key="unused")
        assert (answer.status, answer.body["name"]) == (409, "NoCommonVersion")


async def test_keys_expire_and_are_kept_for_each_principal_apart() -> None:
    now, runs = [0.0], []
    responses = IdempotentResponses(lambda: now[0])
    goes_on = asyncio.Event()

    async def run() -> tuple[Response, bool]:
        runs.append(1)
        await goes_on.wait()
        return Response(b"{}"), True

    first = asyncio.create_task(responses.respond("User:a", "k", b"1", run))
    await asyncio.sleep(0)
    assert (await responses.respond("User:a", "k", b"1", run)).status_code == 409
    goes_on.set()
    await first
    assert (await responses.respond("User:a", "k", b"1", run)).headers["idempotent-replayed"] == "true"
    await responses.respond("User:b", "k", b"1", run)
    assert len(runs) == 2
    now[0] = RETENTION_S + 1
    await responses.respond("User:a", "k", b"2", run)
    assert len(runs) == 3
    for number in range(MAX_KEYS + 1):
        await responses.respond("User:c", str(number), b"", run)
    assert len(runs) == 3 + MAX_KEYS + 1
    repeated = await responses.respond("User:a", "k", b"2", run)
    assert "idempotent-replayed" in repeated.headers, "the keys of another principal push out none"
    await responses.respond("User:c", "0", b"", run)
    assert len(runs) == 3 + MAX_KEYS + 2, "a principal pushes out its own"

    async def large(size: int) -> tuple[Response, bool]:
        runs.append(1)
        return Response(bytes(size)), True

    before = len(runs)
    for number in range(20):
        await responses.respond("User:e", str(number), b"", partial(large, MAX_RESPONSE))
    await responses.respond("User:e", "large", b"", partial(large, MAX_RESPONSE + 1))
    kept = [await responses.respond("User:e", str(number), b"", run) for number in range(20)]
    assert sum(len(response.body) for response in kept if response.status_code == 200) <= MAX_BYTES
    assert [response.status_code for response in kept] == [409] * 12 + [200] * 8
    assert (await responses.respond("User:e", "large", b"", run)).status_code == 409
    assert len(runs) == before + 21, "none runs again, whether its response was kept or not"


@pytest.mark.parametrize(
    ("error", "status"),
    [(ZeroDivisionError(), 409), (asyncio.CancelledError(), 409), (RequestRefused(429, "TooManyRequests", ""), 200)],
)
async def test_change_that_ended_unexpectedly_does_not_run_again(error: BaseException, status: int) -> None:
    responses = IdempotentResponses()

    async def fail() -> tuple[Response, bool]:
        raise error

    async def run() -> tuple[Response, bool]:
        return Response(b"{}"), True

    with pytest.raises(type(error)):
        await responses.respond("User:a", "k", b"", fail)
    assert (await responses.respond("User:a", "k", b"", run)).status_code == status


def test_metrics_count_requests_by_known_paths(server: ServerProcess) -> None:
    server.get("/api/v1/topics/list")
    server.get("/made-up-1")
    families = {family.name: family for family in text_string_to_metric_families(server.get("/metrics").body)}
    counts = {(s.labels["path"], s.labels["status"]): s.value for s in families["kwire_http_requests"].samples}
    assert counts["/api/v1/topics/list", "200"] >= 1
    assert counts["other", "404"] >= 1
    assert "made-up" not in str(counts)
    assert families["kwire_http_connections"].samples[0].value >= 1


def test_past_incidents_are_those_of_gold(server: ServerProcess, cluster: FakeCluster, tmp_path: Path) -> None:
    assert server.get("/api/v1/incidents").body["name"] == "NoGold"
    gold = write_gold(tmp_path)
    with ServerProcess(cluster.bootstrap, "--gold", gold) as with_gold:
        answer = with_gold.get("/api/v1/incidents?limit=1")
        assert (answer.status, answer.body["total"]) == (200, 1)
        [row] = answer.body["rows"]
        assert (row["title"], row["ended"]) == ("Broker 2 was killed or crashed", None)
        assert row["impact"] == "4 under-replicated (partitions)"
    with ServerProcess(cluster.bootstrap, "--gold", tmp_path / "nothing") as without:
        assert without.get("/api/v1/incidents").status == 409


def write_gold(folder: Path) -> Path:
    """Write the gold tables of a cluster with an incident that lasts, and one that ended long ago."""
    return write(
        folder / "gold",
        {
            "silver/polls": polls([1, 2]),
            "gold/incidents": [
                incident(
                    1, "broker_killed", 20, None, broker=2, under_replicated=4, cluster_id="fake-cluster-000000000"
                ),
                incident(2, "broker_restarted", -(10**8), -(10**8), cluster_id="fake-cluster-000000000"),
                incident(3, "broker_killed", 20, None, broker=1, cluster_id="another"),
            ],
        },
    )
