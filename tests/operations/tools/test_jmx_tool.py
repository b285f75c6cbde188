"""The tool `jmx-tool` on a Java process with a real Jolokia agent."""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from kwire.operations.jolokia import MAX_BYTES
from kwire.testing.free_ports import free_ports
from kwire.testing.kafka.jars import jars_of
from tests.operations.tools.running import output, run


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> str:
    """Let every Java process that is started have an agent, and return its address."""
    [jar] = jars_of(Path(__file__).with_name("jolokia.xml")).iterdir()
    [port] = free_ports(1)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-javaagent:{jar}=port={port},host=127.0.0.1")
    return f"http://127.0.0.1:{port}/jolokia"


@pytest.mark.programs
async def test_attributes_are_printed_as_csv(agent: str) -> None:
    with EmbeddedZooKeeper(force_sync=False):
        memory = ("jmx-tool", "--jmx-url", agent, "--object-name", "java.lang:type=Memory")
        names, values = await output(*memory, "--attributes", "HeapMemoryUsage", "--one-time")
        assert names.split(",")[:2] == ['"time"', '"java.lang:type=Memory:HeapMemoryUsage.committed"']
        assert int(values.split(",")[1]) > 0

        pools = await output("jmx-tool", "--jmx-url", agent, "--object-name", "java.lang:type=Mem*,*", "--one-time")
        assert '"java.lang:type=Memory:Verbose"' in pools[0].split(",")
        unknown = await run("jmx-tool", "--jmx-url", agent, "--object-name", "java.lang:type=Nosuch", "--one-time")
        assert unknown.exit_status == 1
        assert "java.lang:type=Nosuch" in str(unknown.error)

        repeated = await run(*memory, "--reporting-interval", "50", "--time-limit", "5")
        assert repeated.exit_status == 3
        assert len(repeated.output.splitlines()) > 2


FOREIGN = [
    b'"text"',
    b"{}",
    b"[]",
    b'["text"]',
    b"[null]",
    b'[{"status": 200}]',
    b'[{"status": 200, "value": 7}]',
    b'[{"status": 200, "value": {"a:b=c": 7}}]',
    b"[" * 100_000,
    b"not JSON",
    b"x" * (MAX_BYTES + 1),
]
"""Responses of other servers than Jolokia agents."""


async def test_response_that_is_not_an_agents_is_one_sentence() -> None:
    responses = iter(FOREIGN)

    class Foreign(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = next(responses)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # the tool does not read a response that is too large
                self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/jolokia"
            for body in FOREIGN:
                result = await run("jmx-tool", "--jmx-url", url, "--object-name", "a:b=*", "--one-time")
                assert result.exit_status == 1, body[:100]
                assert re.match(f"jmx-tool: (no Jolokia agent answers at )?{re.escape(url)}", result.error or ""), (
                    result
                )
        finally:
            server.shutdown()
            serving.join()
    unusable = await run("jmx-tool", "--jmx-url", "http://[/", "--object-name", "a:b=c", "--one-time")
    assert unusable.exit_status == 1
    assert "is not an address" in str(unusable.error)
