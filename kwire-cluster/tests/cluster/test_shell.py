"""The session of KAFKA-1694, word for word, in a terminal: a shell on a cluster of kwire's nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.local.local_cluster import LocalCluster
from kwire_cluster.zookeeper import ConsumerOffset, connect, make_path
from tests.cli.administration import Operator
from tests.cli.shell.tmux import Terminal
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.programs


async def test_the_session_of_the_seed(tmp_path: Path) -> None:
    with LocalCluster(nodes=1) as cluster:
        operator = Operator(cluster.bootstrap)
        operator.json("topics", "create", "name", "-p", "1", "-r", "1")
        zookeeper = await connect(cluster.zookeeper.hosts)
        path = ConsumerOffset.path("billing", "name", 0)
        await make_path(zookeeper, path)
        await zookeeper.set(path, ConsumerOffset(41).encode())

        with Terminal(tmp_path, "shell", "-b", cluster.bootstrap) as terminal:
            terminal.wait_for_prompt()
            terminal.run("describe;")
            terminal.wait_for("LEADER", "name ")
            terminal.wait_for_prompt()
            terminal.run("set topic_security['pci','profile','dss'] = true")
            terminal.wait_for("broker default", "set")
            terminal.wait_for_prompt()
            terminal.run("use topic name;  ")
            terminal.wait_for("topic name")
            terminal.wait_for_prompt()
            terminal.run("stats;")
            terminal.wait_for("billing", "41", "the nodes of this cluster hold no log, so the log end is -")
            await zookeeper.set(path, ConsumerOffset(1042).encode())
            terminal.wait_for("1,042")
            terminal.press("C-c")
            screen = terminal.wait_for_prompt()
            assert [line for line in screen.splitlines() if line.startswith("kafka>")] == [
                "kafka>describe;",
                "kafka>set topic_security['pci','profile','dss'] = true",
                "kafka>use topic name;",
                "kafka>stats;",
                "kafka>",
            ]
        await zookeeper.close()

        def stored() -> bool:
            rows = json.loads(operator.run("-o", "json", "configs", "get", "broker/1").out)
            return any(
                row["name"] == "topic_security['pci','profile','dss']" and row["value"] == "true" for row in rows
            )

        eventually_sync(stored, "the node has the setting")
