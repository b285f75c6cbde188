"""Logs of nodes: bounded lines and bounded files, whatever clients send."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.list_topics import ListTopicsRequest
from kwire_cluster.local.local_cluster import LocalCluster
from tests.cluster.consistency import send

if TYPE_CHECKING:
    from pathlib import Path

LOG_SCRIPT = """
import sys
import threading
from kwire_cluster.node.logs import LogFile, configure_logging, logger
configure_logging(file=LogFile(sys.argv[1], 20_000, 2))
log = logger("test")
for number in range(1_000):
    log.info("event", number=number)
log.error("long", client_id="x" * 32_767, topics=["t"] * 10_000)
try:
    raise ValueError("y" * 100_000)
except ValueError:
    log.exception("failed")
thread = threading.Thread(target=lambda: 1 / 0, name="tool x")
thread.start()
thread.join()
"""


def test_log_file_is_rotated_and_long_texts_are_shortened(tmp_path: Path) -> None:
    file = tmp_path / "log"
    run = subprocess.run((sys.executable, "-c", LOG_SCRIPT, str(file)), check=True, timeout=60, stderr=subprocess.PIPE)
    assert run.stderr == b"", "the exception of a thread is an event, too"
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["log", "log.1", "log.2"]
    assert all(file.stat().st_size <= 20_000 for file in files)
    lines = [json.loads(line) for file in reversed(files) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["number"] for line in lines if line["event"] == "event"][-1] == 999
    [long] = [line for line in lines if line["event"] == "long"]
    assert long["client_id"] == f"{'x' * 200}... (32,767 characters)"
    assert long["topics"] == [*["t"] * 20, "... (10,000 items)"]
    [failed] = [line for line in lines if line["event"] == "failed"]
    assert failed["exception"].startswith("Traceback")
    assert len(failed["exception"]) < 11_000
    [thread] = [line for line in lines if line["event"] == "thread failed"]
    assert thread["thread"] == "tool x"
    assert "ZeroDivisionError" in thread["exception"]


@pytest.mark.usefixtures("java")
def test_log_of_a_cluster_is_rotated() -> None:
    with LocalCluster(nodes=1, settings={"log.file.max.bytes": "4096", "log.file.count": "2"}) as cluster:
        node = cluster.node(1)
        for _ in range(100):
            send(node, ListTopicsRequest(), version=0)
        send(node, ClusterMetadataRequest(), version=0)
        log = cluster.folder(1).log
        sizes = {file.name: file.stat().st_size for file in log.parent.glob("log*")}
        assert sizes.keys() == {"log", "log.1", "log.2"}
        assert all(size <= 4096 for size in sizes.values())
