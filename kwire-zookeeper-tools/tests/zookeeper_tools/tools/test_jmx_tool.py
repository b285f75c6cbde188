"""The tool `jmx-tool` on a Java process with a real Jolokia agent."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from kwire_admin.operations.parameters import InvalidArgument
from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from kwire_zookeeper_tools.jolokia import MAX_BYTES
from kwire_zookeeper_tools.tools.jmx_tool import python_time_format
from tests.free_ports import free_ports
from tests.real_kafka.jars import jars_of
from tests.zookeeper_tools.tools.running import output, run


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


class Agent(BaseHTTPRequestHandler):
    """Answers as a Jolokia agent does: the first time that it does not know the MBean, then with two values."""

    unknown = 1
    logins: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.logins.append(self.headers["Authorization"])
        body = b'[{"status": 200, "value": {"Count": 7, "Mean": 1.5}}]'
        if type(self).unknown:
            type(self).unknown -= 1
            body = b'[{"status": 404, "error": "no such MBean"}]'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


async def test_forms_of_the_report_and_login() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Agent) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/jolokia"
            tool = ("jmx-tool", "--jmx-url", url, "--object-name", "a:b=c", "--one-time", "--date-format", "'at' yyyy")
            waiting = await output(*tool, "--wait", "--reporting-interval", "1", "--jmx-auth-prop", "ann=s=cret")
            year = f"at {datetime.now(UTC).astimezone().year}"
            assert waiting == ['"time","a:b=c:Count","a:b=c:Mean"', f"{year},7,1.5"]
            assert Agent.logins[-1] == f"Basic {b64encode(b'ann:s=cret').decode()}"
            assert await output(*tool, "--report-format", "csv") == ["time,a:b=c:Count,a:b=c:Mean", f"{year},7,1.5"]
            properties = [f"time={year}", "a:b=c:Count=7", "a:b=c:Mean=1.5"]
            assert await output(*tool, "--report-format", "properties") == properties
            separated = [line.replace("=7", "\t7").replace("=1.5", "\t1.5") for line in properties[1:]]
            assert await output(*tool, "--report-format", "tsv") == [f"time\t{year}", *separated]
        finally:
            server.shutdown()
            serving.join()


def test_date_formats_of_java() -> None:
    assert python_time_format("yyyy-MM-dd'T'HH:mm:ss.SSS 100%") == "%Y-%m-%dT%H:%M:%S.%L 100%%"
    with pytest.raises(InvalidArgument, match="EEEE is not supported"):
        python_time_format("EEEE")


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
