"""`kwire sniff` relays connections and shows each request with its response."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import socketserver
import subprocess
import sys
from struct import pack, unpack_from

from kwire import frame
from kwire.client import BlockingConnection
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.messages.kafka.produce import ProduceRequest
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.testing import FakeCluster
from tests.cli.running import kwire
from tests.cli.scripted_broker import connect, raw_server, receive, receive_frame, scripted_broker, sized
from tests.cli.sniffing import LIST_TOPICS, request, sniffing
from tests.for_rows import for_rows


def list_topics(address: str, client: str = "kafka-python") -> str:
    """Return what a real client prints as the topics of a cluster."""
    command = [sys.executable, "-W", "ignore", "-c", LIST_TOPICS[client], address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


# Traffic of real clients


@for_rows("client", LIST_TOPICS)
def test_json_has_a_line_for_each_exchange_of_a_real_client(client: str) -> None:
    with FakeCluster(brokers=1, topics=["orders", "payments"]) as cluster:
        with sniffing("--to", cluster.endpoint(1)) as sniffer:
            assert list_topics(sniffer.address, client) == "orders payments\n"
            documents = sniffer.documents()
        broker = cluster.endpoint(1)

    assert {document["api"] for document in documents} == {"ApiVersions", "Metadata"}
    for document in documents:
        assert (document["kind"], document["outcome"], document["broker"]) == ("message", "answered", broker)
        assert document["client_id"] == document["request"]["header"]["clientId"] == "app"
        assert document["correlation_id"] == document["response"]["header"]["correlationId"]
        assert document["request"]["message"] == f"{document['api']}Request"
        assert document["response"]["message"] == f"{document['api']}Response"
        assert 0 < document["latency_ms"] < 30_000
        assert document["request_bytes"] > 8
        assert document["response_bytes"] > 8
    metadata = next(document for document in documents if document["api"] == "Metadata")
    assert [row["nodeId"] for row in metadata["response"]["body"]["brokers"]] == [1]


def test_table_has_a_row_for_each_exchange() -> None:
    with (
        FakeCluster(brokers=1, topics=["orders"]) as cluster,
        sniffing("--to", cluster.endpoint(1), "-o", "table") as it,
    ):
        list_topics(it.address)
        heading, *rows = it.stop().splitlines()

    assert heading.split() == ["time", "conn", "client", "id", "api", "version", "sent", "received", "ms", "result"]
    assert [row.split()[1:4] for row in rows] == [["#1", "app", "ApiVersions"], ["#1", "app", "Metadata"]]
    assert [row.split()[-1] for row in rows] == ["ok", "ok"]


def test_hex_dump_shows_the_bytes_of_both_frames() -> None:
    with (
        FakeCluster(brokers=1, topics=["orders"]) as cluster,
        sniffing("--to", cluster.endpoint(1), "-o", "hexdump") as it,
    ):
        list_topics(it.address)
        out = it.stop()

    titles = [line.partition(",")[0] for line in out.splitlines() if re.match(r"\w+ v\d+, \d+ bytes?", line)]
    assert [title.partition(" ")[0] for title in titles] == [
        "RequestHeader", "ApiVersionsRequest", "ResponseHeader", "ApiVersionsResponse",
        "RequestHeader", "MetadataRequest", "ResponseHeader", "MetadataResponse",
    ]  # fmt: skip
    assert re.search(r"^=== .*  Metadata v\d+, #1 127.0.0.1:\d+ to .*, [\d.]+ ms$", out, flags=re.MULTILINE)
    assert '"fake-cluster' in out


def test_count_ends_the_command() -> None:
    with FakeCluster(brokers=1) as cluster, sniffing("--to", cluster.endpoint(1), "--count", "3") as it:
        with BlockingConnection(it.address) as connection:  # other clients send more requests, to a port that is closed
            connection.send(MetadataRequest(topics=None))
        documents = [json.loads(line) for line in it.finish().splitlines()]

    assert [document["api"] for document in documents] == ["ApiVersions", "ApiVersions", "Metadata"]


def test_several_brokers_have_an_address_each() -> None:
    with FakeCluster(brokers=2) as cluster:
        maps = [argument for broker in (1, 2) for argument in ("--map", f"0={cluster.endpoint(broker)}")]
        with sniffing(*maps, routes=2) as it:
            for address in it.addresses:
                list_topics(address)
            documents = it.documents()
        brokers = {cluster.endpoint(1), cluster.endpoint(2)}

    assert {document["broker"] for document in documents} == brokers
    assert {document["connection"] for document in documents} == {1, 2}


# Filters


@for_rows(
    ("options", "apis"),
    [
        (["--api", "Metadata"], {"Metadata"}),
        (["--api", "Fetch, 18"], {"ApiVersions"}),
        (["--api", "MetadataRequest", "--api", "ApiVersions"], {"ApiVersions", "Metadata"}),
        (["--client-id", "app"], {"ApiVersions", "Metadata"}),
        (["--client-id", "other"], set()),
        (["--errors-only"], set()),
    ],
    ids=lambda value: " ".join(sorted(value)) or "nothing",
)
def test_filters_choose_exchanges(options: list[str], apis: set[str]) -> None:
    with FakeCluster(brokers=1, topics=["orders"]) as cluster, sniffing("--to", cluster.endpoint(1), *options) as it:
        assert list_topics(it.address) == "orders\n"
        documents = it.documents()

    assert {document["api"] for document in documents} == apis


def test_errors_only_shows_error_codes_and_malformed_frames() -> None:
    rejected = SaslHandshakeResponse(error_code=34, mechanisms=())
    malformed = sized(pack(">i", 2) + b"\0")

    def answer(payload: bytes) -> bytes:
        (correlation_id,) = unpack_from(">i", payload, 4)
        if correlation_id == 2:
            return malformed
        response = rejected if correlation_id == 1 else SaslHandshakeResponse(error_code=0, mechanisms=("PLAIN",))
        return frame.encode_response(response, version=1, correlation_id=correlation_id)

    with scripted_broker(answer) as broker, sniffing("--to", broker, "--errors-only", "-o", "table") as it:
        with connect(it.address) as client:
            for correlation_id in range(4):
                client.sendall(request(SaslHandshakeRequest(mechanism="PLAIN"), 1, correlation_id))
                receive_frame(client)
        _, *rows = it.stop().splitlines()

    assert [row.split("  ")[-1].strip() for row in rows] == [
        "ILLEGAL_SASL_STATE",
        "error_code: truncated at byte 4: 2 bytes wanted, 1 left",
    ]


# Bytes that are not decoded


def test_bytes_of_other_protocols_pass_unchanged_and_are_named() -> None:
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

    class Echo(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while data := self.request.recv(1 << 16):
                self.request.sendall(data)

    with raw_server(Echo) as broker, sniffing("--to", broker) as it:
        with connect(it.address) as client:
            client.sendall(hello)
            assert receive(client, len(hello)) == hello
            client.sendall(b"more" * 10_000)
            assert receive(client, 40_000) == b"more" * 10_000
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""
        documents = it.documents()

    assert [document["error"]["text"].partition(": ")[0] for document in documents] == [
        "decoding stops for bytes from the client",
        "decoding stops for bytes from the broker",
    ]
    assert all("received TLS instead of Kafka's protocol" in document["error"]["text"] for document in documents)


def test_frames_that_cannot_be_decoded_do_not_stop_later_ones() -> None:
    unknown = pack(">hhih", 999, 7, 5, 3) + b"app" + b"hunter2"

    def answer(payload: bytes) -> bytes:
        (api_key, _, correlation_id) = unpack_from(">hhi", payload)
        if api_key == 999:
            return sized(pack(">i", correlation_id) + b"hunter2")
        return frame.encode_response(
            SaslHandshakeResponse(error_code=0, mechanisms=()), version=1, correlation_id=correlation_id
        )

    with scripted_broker(answer) as broker, sniffing("--to", broker) as it:
        with connect(it.address) as client:
            client.sendall(sized(unknown) + request(SaslHandshakeRequest(mechanism="PLAIN"), 1, 6))
            assert receive_frame(client)[4:] == b"hunter2"
            receive_frame(client)
        first, second = it.documents()

    assert (first["api"], first["api_key"], first["version"], first["client_id"]) == (None, 999, 7, "app")
    assert first["request"]["error"]["kind"] == first["response"]["error"]["kind"] == "unknown_message"
    assert "hunter2" not in json.dumps(first)
    assert second["api"] == "SaslHandshake"
    assert second["request"]["body"] == {"mechanism": "PLAIN"}


def test_requests_without_a_response_are_shown() -> None:
    with scripted_broker(lambda _payload: b"") as broker, sniffing("--to", broker) as it:
        with connect(it.address) as client:
            client.sendall(request(ProduceRequest(acks=0, timeout_ms=1, topic_data=()), 9, 1))
            client.sendall(request(SaslHandshakeRequest(mechanism="PLAIN"), 1, 2)[:-1] + b"N" + b"\0\0\0\x09half")
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""
        *exchanges, cut = it.documents()

    assert [(exchange["api"], exchange["outcome"], exchange["response"]) for exchange in exchanges] == [
        ("Produce", "one_way", None),
        ("SaslHandshake", "unanswered", None),
    ]
    assert cut["error"]["text"] == "the connection ended after 8 bytes of a frame from the client"


# Ends


@for_rows("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_command_and_its_connections(number: signal.Signals) -> None:
    with scripted_broker(lambda _payload: b"") as broker, sniffing("--to", broker) as it, connect(it.address) as client:
        client.sendall(request(SaslHandshakeRequest(mechanism="PLAIN"), 1, 1) * 3)
        assert it.run.process.poll() is None
        out = it.stop(number)
        assert client.recv(1) == b""
        err = it.run.stderr.read()

    assert all(json.loads(line)["outcome"] == "unanswered" for line in out.splitlines())
    assert err == b""


def test_closed_output_ends_the_command() -> None:
    def answer(payload: bytes) -> bytes:
        (correlation_id,) = unpack_from(">i", payload, 4)
        return sized(pack(">i", correlation_id))

    with scripted_broker(answer) as broker, sniffing("--to", broker) as it:
        it.run.stdout.close()
        with connect(it.address) as client:
            client.sendall(sized(pack(">hhi", 999, 0, 1)))
            receive_frame(client)
            assert it.run.process.wait(60) == 141


def test_blocked_output_neither_delays_the_traffic_nor_fills_the_memory() -> None:
    """200 MB pass while the output is not read. At most 64 MB of them are kept."""
    megabyte = bytes(1 << 20)

    def answer(payload: bytes) -> bytes:
        (correlation_id,) = unpack_from(">i", payload, 4)
        return sized(pack(">i", correlation_id) + megabyte)

    with scripted_broker(answer) as broker, sniffing("--to", broker, "--show-secrets") as it:
        with connect(it.address) as client:
            for correlation_id in range(200):
                client.sendall(sized(pack(">hhi", 999, 0, correlation_id)))
                assert len(receive_frame(client)) == 4 + (1 << 20)
        with open(f"/proc/{it.run.process.pid}/status", encoding="ascii") as status:  # noqa: PTH123  # not a file
            [resident] = re.findall(r"VmRSS:\s+(\d+) kB", status.read())
        lines = it.stop().splitlines()
        err = it.run.stderr.read().decode()

    assert int(resident) < 350_000
    shown = [json.loads(line) for line in lines]
    dropped = sum(row.get("dropped", 0) for row in shown)
    assert len([line for line in shown if "api_key" in line]) < 80
    assert re.fullmatch(r"(\d+) exchanges were not shown: the output was too slow\n", err)
    assert int(err.split()[0]) >= 120
    assert dropped in (0, int(err.split()[0]))


# Errors


def test_broker_that_cannot_be_reached_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with sniffing("--to", f"127.0.0.1:{port}") as it:
        with connect(it.address) as client:
            assert client.recv(1) == b""
        [document] = it.documents()

    assert document["broker"] == f"127.0.0.1:{port}"
    assert document["error"]["text"].startswith(f"127.0.0.1:{port}: cannot connect: ")
    assert "Connect call failed" in document["error"]["text"]


def test_port_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        run = kwire("sniff", "--listen", str(port), "--to", "broker-1")

    assert (run.code, run.out) == (1, "")
    assert run.err == f"Error: cannot listen on 127.0.0.1:{port}: {os.strerror(98)}\n"


@for_rows(
    ("arguments", "text"),
    [
        ([], "nothing to sniff: name the broker with --to HOST:PORT, or several with --map"),
        (["--listen", "19092"], "--listen needs --to, the broker to forward to"),
        (["--listen", "here", "--to", "a"], "'here' is not an address to listen on: write host:port or a port"),
        (["--listen", "70000", "--to", "a"], "'70000' is not an address to listen on: write host:port or a port"),
        (["--to", "broker:port"], "'broker:port' is not the address of a broker: write host:port"),
        (["--map", "19092"], "'19092' is not of the form [HOST:]PORT=HOST:PORT"),
        (["--to", "a", "--api", "Metadatas"], "did you mean MetadataRequest"),
        (["--to", "a", "--count", "0"], "0 is not in the range x>=1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_explained(arguments: list[str], text: str) -> None:
    run = kwire("sniff", *arguments)

    assert (run.code, run.out) == (2, "")
    assert text in " ".join(run.err.split())
