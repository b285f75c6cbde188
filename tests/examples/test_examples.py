"""The small examples: each runs as its docstring says and prints what it promises."""

from __future__ import annotations

import ast
import asyncio
import json
import sys
from functools import partial
from pathlib import Path

import pytest

from examples.columns_to_polars import count_leaders, read_responses
from examples.leader_move_watcher import watch_leaders
from examples.own_message import BrewCoffeeRequest, BrewCoffeeResponse, order, serve
from examples.two_way_sniffer import sniff
from kwire.testing import FakeCluster
from tests.cli.sniffing import LIST_TOPICS
from tests.eventually import eventually

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


async def start(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def run(*arguments: str) -> str:
    """Return the output of a program that must succeed."""
    process = await start(*arguments)
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    return out.decode()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_how_to_run_it(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))

    assert text is not None
    assert "pip install kwire" in text
    assert f"python {path.name}" in text or f"pytest {path.name}" in text


async def test_watcher_prints_leader_moves_of_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    output = ""

    def printed(text: str) -> bool:
        nonlocal output
        output += capsys.readouterr().out
        return text in output

    with FakeCluster(brokers=2, topics=["orders"]) as cluster:
        leader = cluster.state.partition("orders", 0).leader_id
        watching = asyncio.create_task(watch_leaders(cluster.bootstrap, 0.05))
        await eventually(lambda: {request.api_key for request in cluster.requests(1)} >= {3})
        await eventually(lambda: {request.api_key for request in cluster.requests(2)} >= {3})
        cluster.move_leader("orders", 0, 3 - leader)
        for broker_id in (1, 2):
            line = f"broker {broker_id} reports orders-0: leader moved from {leader} to {3 - leader}\n"
            await eventually(partial(printed, line), line)
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching


async def test_watcher_without_an_address_watches_a_fake_cluster() -> None:
    process = await start("examples/leader_move_watcher.py")
    assert process.stdout is not None
    async with asyncio.timeout(120):
        line = await process.stdout.readline()
    process.kill()
    await process.communicate()

    assert b"leader moved from" in line


OWN_CLIENTS = [f"examples/own_client_{flavor}.py" for flavor in ("blocking", "asyncio", "trio")]


async def test_own_clients_print_brokers_and_topics() -> None:
    with FakeCluster(brokers=2, topics=["orders"]) as cluster:
        outputs = await asyncio.gather(*(run(program, cluster.endpoint(1)) for program in OWN_CLIENTS))
        assert outputs == [f"{cluster.endpoint(1)} {cluster.endpoint(2)} 1 topics\n"] * 3


@pytest.mark.parametrize(
    ("misbehavior", "expected"),
    [("truncated frame", "ConnectionClosed"), ("oversized frame", "frame of 2147483647 bytes")],
)
async def test_own_clients_end_with_an_error(misbehavior: str, expected: str) -> None:
    with FakeCluster(brokers=1) as cluster:
        cluster.misbehave(1, misbehavior, times=None)
        processes = [await start(program, cluster.endpoint(1)) for program in OWN_CLIENTS]
        async with asyncio.timeout(120):
            errors = [(await process.communicate())[1].decode() for process in processes]
        assert [expected in error.splitlines()[-1] for error in errors] == [True] * 3, errors


@pytest.mark.parametrize("client", LIST_TOPICS)
async def test_sniffer_prints_both_directions(client: str, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeCluster(brokers=1, topics=["orders", "payments"]) as cluster:
        host, _, port = cluster.endpoint(1).rpartition(":")
        async with await sniff((host, int(port))) as server:
            bootstrap = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            assert await run("-W", "ignore", "-c", LIST_TOPICS[client], bootstrap) == "orders payments\n"

    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [document for document in documents if "error" in document] == []
    by_kind = {
        kind: {document["correlation_id"]: document for document in documents if document["kind"] == kind}
        for kind in ("request", "response")
    }
    assert {line["client_id"] for line in by_kind["request"].values()} == {"app"}
    assert {line["message"] for line in by_kind["request"].values()} >= {"ApiVersionsRequest", "MetadataRequest"}
    for correlation_id, response in by_kind["response"].items():
        request = by_kind["request"][correlation_id]
        assert response["api_key"] == request["api_key"]
        assert response["message"] == request["message"].replace("Request", "Response")
    topics = [
        {topic["name"] for topic in line["body"]["topics"]}
        for line in by_kind["response"].values()
        if line["message"] == "MetadataResponse"
    ]
    assert {"orders", "payments"} in topics


async def test_sniffer_forwards_bytes_that_it_cannot_decode(capsys: pytest.CaptureFixture[str]) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(8))
        writer.close()

    not_kafka = b"\x16\x03\x01\x02\x00\x01\x00\x01"  # the start of a TLS handshake
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, await sniff(server.sockets[0].getsockname()[:2]) as proxy:
        reader, writer = await asyncio.open_connection(*proxy.sockets[0].getsockname()[:2])
        writer.write(not_kafka)
        assert await reader.read() == not_kafka
        writer.close()
        await writer.wait_closed()

    assert "error" in json.loads(capsys.readouterr().out.splitlines()[0])


async def test_own_message_is_sent_and_decoded() -> None:
    assert await run("examples/own_message.py") == (
        "espresso: BrewCoffeeResponse(error_code=0, reason=None)\n"
        "espresso, tea: BrewCoffeeResponse(error_code=1, reason='not on the menu: tea')\n"
    )


@pytest.mark.parametrize(("version", "reason"), [(0, None), (1, "not on the menu: tea")])
async def test_own_message_has_two_versions(version: int, reason: str | None) -> None:
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        response = await order(host, port, BrewCoffeeRequest(kinds=("tea",)), version)

    assert response == BrewCoffeeResponse(error_code=1, reason=reason)


def test_polars_counts_leaders_reported_by_each_broker() -> None:
    with FakeCluster(brokers=3, topics=6, partitions=5) as cluster:
        responses, version = read_responses(cluster.bootstrap)
        leaders = [partition.leader_id for topic in cluster.state.topics.values() for partition in topic.partitions]

    counts = count_leaders(responses, version)

    assert counts.rows() == [
        (reported_by, leader, leaders.count(leader)) for reported_by in (1, 2, 3) for leader in (1, 2, 3)
    ]


async def test_columns_example_prints_a_table() -> None:
    with FakeCluster(brokers=1, topics=2) as cluster:
        assert "reported_by" in await run("examples/columns_to_polars.py", cluster.bootstrap)


async def test_fake_cluster_example_passes_as_a_test() -> None:
    out = await run("-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/fake_cluster_in_a_test.py")

    assert "3 passed" in out
