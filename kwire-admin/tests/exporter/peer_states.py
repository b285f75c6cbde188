"""States of a cluster in which the pages of other exporters were recorded.

    python -m tests.exporter.peer_states kminion PROGRAM
    python -m tests.exporter.peer_states kafka_exporter PROGRAM

The commands run a peer beside the states, and write `peer_pages/`. `go build` makes the programs from their sources:
KMinion 2.2.11 and kafka_exporter 1.9.0. Ports are written as ids of brokers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from kwire.testing import FakeCluster
from tests.eventually import eventually_sync
from tests.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Page: TypeAlias = dict[tuple[str, tuple[tuple[str, str], ...]], float]

PAGES = Path(__file__).parent / "peer_pages"
PREFIXES = {"kafka_exporter": ("kafka_",), "kminion": ("kminion_kafka_", "kminion_exporter_up")}
OWN = re.compile(r"kafka_exporter_|\w+_bytes_total |\w+requests_|\w+_sent_bytes|\w+_received_bytes|\w+_timestamp")
"""Metrics that depend on the exporter itself or on the time."""


def fake_cluster() -> FakeCluster:
    return FakeCluster(3, topics=["orders", "audit", "gone"], partitions=3)


def states(cluster: FakeCluster) -> Iterator[str]:
    """Bring a cluster into one state after another, and yield their names."""
    cluster.create_topics(["__consumer_offsets"], 2, internal=True)
    for topic in ("orders", "audit", "gone", "__consumer_offsets"):
        cluster.set_config("cleanup.policy", "compact" if topic == "audit" else "delete", topic=topic)
    cluster.set_ends("orders", dict.fromkeys(range(3), 100), dict.fromkeys(range(3), 5))
    cluster.set_ends("audit", {0: 10, 1: 0, 2: 7})
    cluster.set_group("billing", {"orders": {0: 40, 1: 60}}, members=1)
    cluster.set_group("idle", {"orders": {0: 40, 1: 60, 2: 100}})
    cluster.set_group("many", {"orders": {0: 100}, "audit": {0: 0, 1: 0}}, members=5)
    cluster.set_group("ahead", {"audit": {0: 20}}, members=1)
    cluster.set_group("none", {})
    yield "at first"
    cluster.set_group("billing", {"orders": {0: 50, 1: 60, 2: 99}}, members=2)
    cluster.delete_topics("gone")
    yield "committed, and a topic deleted"
    cluster.delete_groups("idle")
    cluster.recreate_topic("audit")
    cluster.set_config("cleanup.policy", "compact", topic="audit")
    cluster.set_ends("audit", {0: 30, 1: 0, 2: 0})
    cluster.add_partitions("orders", 4)
    yield "a group deleted, and a topic created again"
    cluster.shrink_isr("orders", 2, 3)
    cluster.move_leader("orders", 0, 3)
    yield "a replica behind"
    cluster.remove_leader("orders", 1)
    yield "no leader"
    cluster.move_leader("orders", 1, 2)
    cluster.stop_broker(3)
    yield "a broker fenced"


def parsed(text: str, names: str, cluster: FakeCluster | None = None) -> Page:
    """Return the values of a page, without what differs between runs."""
    for number, endpoint in enumerate(cluster.bootstrap.split(",") if cluster is not None else (), 1):
        text = text.replace(endpoint.rpartition(":")[2], str(number))
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(PREFIXES[names]) and not OWN.match(f"{sample.name} ")
    }


def recorded(names: str) -> dict[str, Page]:
    """Return the recorded pages by state."""
    sections = (PAGES / f"{names}.txt").read_text(encoding="utf-8").split("## ")[1:]
    return {state: parsed(text, names) for state, _, text in (section.partition("\n") for section in sections)}


def _record(names: str, program: str) -> None:
    [port] = free_ports(1)
    with fake_cluster() as cluster:
        servers = [f"--kafka.server={server}" for server in cluster.bootstrap.split(",")]
        options = [*servers, f"--web.listen-address=127.0.0.1:{port}", "--refresh.metadata=1s"]
        environment = {
            "KAFKA_BROKERS": cluster.bootstrap, "LOGGER_LEVEL": "error", "VERSION": "recorded",
            "EXPORTER_HOST": "127.0.0.1", "EXPORTER_PORT": str(port),
        }  # fmt: skip
        sections: list[str] = []
        with subprocess.Popen(
            [program, *(options if names == "kafka_exporter" else ())], env=os.environ | environment
        ) as process:
            try:
                for state in states(cluster):
                    page = _settled(lambda: parsed(_get(port), names, cluster))
                    lines = [f"{name}{_labels(labels)} {value:g}\n" for (name, labels), value in sorted(page.items())]
                    sections.append(f"## {state}\n{''.join(lines)}")
            finally:
                process.terminate()
    PAGES.mkdir(exist_ok=True)
    (PAGES / f"{names}.txt").write_text("".join(sections), encoding="utf-8")


def _settled(page: Callable[[], Page]) -> Page:
    """Return a page that was equal four times, while the exporter follows a change."""
    pages: list[Page] = []

    def is_settled() -> bool:
        pages.append(page())
        return len(pages) > 3 and bool(pages[-1]) and all(each == pages[-1] for each in pages[-4:])

    eventually_sync(is_settled, "equal pages", pause=1.0)
    return pages[-1]


def _get(port: int) -> str:
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=70) as response:
            text: str = response.read().decode()
    except URLError:  # it does not listen yet
        return ""
    return text


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"


if __name__ == "__main__":
    _record(*sys.argv[1:])
