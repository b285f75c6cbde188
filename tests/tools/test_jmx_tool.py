"""The tool `jmx-tool` on a Java process with a real Jolokia agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from kwire.testing.free_ports import free_ports
from kwire.testing.kafka.jars import jars_of
from tests.tools.running import output, run


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> str:
    """Let every Java process that is started have an agent, and return its address."""
    [jar] = jars_of(Path(__file__).with_name("jolokia.xml")).iterdir()
    [port] = free_ports(1)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-javaagent:{jar}=port={port},host=127.0.0.1")
    return f"http://127.0.0.1:{port}/jolokia"


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
