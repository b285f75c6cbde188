"""Verbs over HTTP: arguments, rows, errors, and confirmation."""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from kwire import EncodeError, encode
from kwire.messages.kafka.create_topics import CreatableTopic, CreateTopicsRequest
from kwire_admin.http.arguments import arguments
from kwire_admin.http.responses import status_of
from kwire_admin.operations.parameters import Conflict
from kwire_admin.operations.registry import find_verb
from tests.cli.running import kwire
from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from kwire.testing import FakeCluster


def test_rows_are_those_of_the_command(server: ServerProcess, cluster: FakeCluster) -> None:
    import json

    for noun, verb in (("topics", "list"), ("topics", "describe"), ("cluster", "describe"), ("brokers", "list")):
        printed = kwire("-b", cluster.bootstrap, "-o", "json", noun, verb).out
        answer = server.get(f"/api/v1/{noun}/{verb}")
        assert (answer.status, answer.body) == (200, {"rows": json.loads(printed)})


def test_parameters_are_in_the_query(server: ServerProcess) -> None:
    assert [row["name"] for row in server.get("/api/v1/topics/list?pattern=a*&internal=true").body["rows"]] == ["audit"]
    described = server.get("/api/v1/topics/describe?names=orders&names=audit")
    assert [row["name"] for row in described.body["rows"]] == ["audit", "orders"]


def test_error_of_unknown_topic_has_similar_names(server: ServerProcess) -> None:
    answer = server.get("/api/v1/topics/describe?names=order")

    [failed] = answer.body["rows"]
    assert failed["error"]["message"].endswith("; did you mean orders?")


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("topics/lists", 404, "/api/v1/topics/lists does not exist: did you mean /api/v1/topics/list"),
        ("topics/create", 405, "/api/v1/topics/create does not have the method GET: it has POST"),
        ("topics/list?patern=x", 400, "topics list has no parameter 'patern': did you mean pattern?"),
        ("topics/list?internal=maybe", 400, "internal: expected true or false, got 'maybe'"),
        ("topics/list?pattern=a&pattern=b", 400, "pattern is given twice"),
        (
            "topics/describe?only=odd",
            400,
            "only: expected under-replicated or offline or not-preferred or under-min-isr or at-min-isr, got 'odd'",
        ),
        ("configs/get", 400, "resource is required"),
        ("configs/audit?newest=many", 400, "newest: expected an integer, got 'many'"),
    ],
)
def test_wrong_request_is_one_sentence(server: ServerProcess, path: str, status: int, message: str) -> None:
    answer = server.get(f"/api/v1/{path}")
    assert answer.status == status
    assert answer.body["detail"].startswith(message)


@pytest.mark.parametrize(
    ("body", "headers", "status", "message"),
    [
        ({"names": "orders"}, {}, 400, "names: expected a list, got a string"),
        ({"names": [7]}, {}, 400, "names: expected a string, got an integer"),
        ({"names": ["a"], "partitions": True}, {}, 400, "partitions: expected an integer, got a boolean"),
        ({"names": ["a"], "dry_run": 1}, {}, 400, "dry_run: expected true or false"),
        ({"names": ["a"], "wait": 1e9}, {}, 400, "wait: expected seconds between 0 and 600"),
        ({"names": []}, {}, 400, "name at least one topic"),
        ([], {}, 400, "expected a JSON object"),
        (b"{", {}, 400, "the body is not JSON"),
        (b"[" * 100_000, {}, 400, "the body is not JSON"),
        (b"\xff", {}, 400, "the body is not JSON"),
        (b"{}", {"Content_Type": "text/plain"}, 400, "expected the header Content-Type: application/json"),
        (b'{"names": ["a"], "names": ["b"]}', {}, 400, "the body is not JSON: a key appears twice"),
        (b'{"names": ["a"], "config": {"x": "1", "x": "2"}}', {}, 400, "the body is not JSON: a key appears twice"),
        (b"\x1f\x8b", {"Content_Encoding": "gzip"}, 400, "expected a body without the header Content-Encoding"),
        (b" " * (5 << 20), {}, 413, "the body is larger than"),
    ],
    ids=lambda value: "body" if isinstance(value, bytes) else None,
)
def test_wrong_body_is_one_sentence(
    server: ServerProcess, body: Any, headers: dict[str, str], status: int, message: str
) -> None:
    answer = server.post("/api/v1/topics/create", body, **headers)
    assert answer.status == status
    assert answer.body["detail"].startswith(message)


@pytest.mark.parametrize("length", [10**8, 10**11, 10**30])
def test_an_announced_body_that_is_too_large_is_refused_before_it_arrives(server: ServerProcess, length: int) -> None:
    address = urlsplit(server.url)
    assert address.hostname is not None
    assert address.port is not None
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        head = f"POST /api/v1/topics/create HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: {length}\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        answer = b"".join(iter(partial(connection.recv, 4096), b""))  # until the server closes the connection
    assert answer.split(None, 2)[1] in (b"413", b"400"), answer


@pytest.mark.parametrize(
    ("verb", "body", "detail"),
    [
        ("partitions/add", {"topic": "orders"}, "give one of to and by"),
        ("partitions/add", {"topic": "orders", "by": 0}, "by: expected at least 1, found 0"),
        ("configs/set", {"resource": "topic/orders"}, "give at least one of values, append, subtract, and from_file"),
        ("elections/run", {"type": "unclean"}, "give partitions with type unclean"),
    ],
)
def test_errors_name_parameters_as_requests_do(server: ServerProcess, verb: str, body: Any, detail: str) -> None:
    answer = server.post(f"/api/v1/{verb}", body)
    assert (answer.status, answer.body["detail"]) == (400, detail)


def test_errors_of_verbs_name_parameters_as_requests_do() -> None:
    execute = find_verb("reassign-partitions", "execute")
    assert execute is not None
    expected = pytest.raises(Conflict, match=r"^use force to start anyway, after --shift-by$")
    with expected, arguments(execute, {"file": "{}"}):
        raise Conflict("use --force to start anyway, after --shift-by")  # the verb has no parameter shift_by


def test_values_that_no_request_can_carry_are_400() -> None:
    for names, partitions in ((["new"], 2**31), (["\ud800"], 1), (["x" * 300_000], 1)):
        topics = tuple(
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
            for name in names
        )
        with pytest.raises(EncodeError) as caught:
            encode(CreateTopicsRequest(topics=topics), version=7)
        assert status_of(caught.value) == 400


def test_wrong_method_has_the_right_ones_in_allow(server: ServerProcess) -> None:
    answer = server.get("/api/v1/topics/create")
    assert (answer.headers["allow"], answer.body["name"]) == ("POST", "MethodNotAllowed")


def test_parameters_of_a_change_are_not_in_the_address(server: ServerProcess) -> None:
    answer = server.post("/api/v1/users/set?password=hunter2", {})
    assert (answer.status, answer.body["detail"]) == (
        400,
        "expected the parameters in the body, got some in the address",
    )
    assert "hunter2" not in server.log()


def test_destruction_needs_a_confirmation(server: ServerProcess) -> None:
    question = server.post("/api/v1/topics/delete", {"names": ["orders"]})
    assert question.status == 428
    assert question.body["detail"] == 'Delete orders and all records? Confirm with {"confirm": true}'
    for wrong in ("true", False):
        assert server.post("/api/v1/topics/delete", {"names": ["orders"], "confirm": wrong}).status == 428
    dry = server.post("/api/v1/topics/delete", {"names": ["orders"], "dry_run": True})
    assert dry.body == {"rows": [{"name": "orders", "status": "would be deleted", "attempts": 1}]}


def test_failed_items_are_in_the_rows(server: ServerProcess) -> None:
    some = server.get("/api/v1/topics/describe?names=orders&names=nosuch")
    assert some.status == 207
    assert [row["error"]["name"] for row in some.body["rows"] if "error" in row] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert server.get("/api/v1/topics/describe?names=nosuch").status == 404


def test_problems_of_a_cluster_are_rows_with_a_summary(server: ServerProcess, cluster: FakeCluster) -> None:
    cluster.shrink_isr("orders", 0, cluster.state.topics["orders"].partitions[0].isr_nodes[-1])
    answer = server.get("/api/v1/cluster/health")
    assert (answer.status, answer.body["summary"]) == (200, "the cluster has 1 problem")
    assert answer.body["rows"][0]["problem"] == "under-replicated"


def test_unreachable_cluster_is_503() -> None:
    with ServerProcess("127.0.0.1:1", "--timeout", "0.5") as server:
        answer = server.get("/api/v1/topics/list")
        assert answer.status == 503
        assert answer.body["name"] == "ConnectFailed"


def test_server_ends_with_0_after_a_signal(cluster: FakeCluster) -> None:
    with ServerProcess(cluster.bootstrap) as server:
        stream = server.events()
        next(stream)
        assert server.stop() == 0
