"""Random histories of faults while tools run on the nodes: nothing that a tool has reported is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import BlockingAdminClient, TopicDescription
from kwire.errors import KwireError
from tests.cluster.consistency import wait_consistent
from tests.cluster.faults import SESSION_SECONDS, check_new_work, controller_id
from tests.cluster.repetitions import random_times, rounds
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from random import Random

    from kwire_cluster.local.local_cluster import LocalCluster

pytestmark = pytest.mark.nightly

WORKERS = 3
FAULTS = 2
SMALLEST = 1_000_000
"""The config of a register before its first change."""


class Worker:
    """A user who creates topics and raises a config by tools, one after the other, on random nodes."""

    def __init__(self, name: str, cluster: LocalCluster, chance: Random) -> None:
        self.register = f"{name}-register"
        self.created: set[str] = set()
        """The topics that a tool reported as created."""
        self.values = [0]
        """The last value that a tool has reported, and the values that it has possibly set since."""
        self._name = name
        self._cluster = cluster
        self._chance = chance

    def run(self, stop: threading.Event) -> None:
        number = 0
        while not stop.is_set() or self.register not in self.created or number < 2:
            number += 1
            self._create(self.register if self.register not in self.created else f"{self._name}-{number}")
            if self.register in self.created:
                self._raise_config(number)

    def _create(self, topic: str) -> None:
        is_created = self._succeeds("create-topic", ("--topic", topic, "--partition", "2", "--replica", "2"))
        # An earlier attempt has possibly created it, and its response was lost.
        if is_created or self._succeeds("list-topic", ("--topic", topic)):
            self.created.add(topic)

    def _raise_config(self, number: int) -> None:
        self.values.append(number)
        config = f"segment.ms={SMALLEST + number}"
        if self._succeeds("topics", ("--alter", "--topic", self.register, "--config", config)):
            self.values = [number]

    def _succeeds(self, tool: str, words: tuple[str, ...]) -> bool:
        """Run a tool on a random node, and return whether it reports success. It runs once."""
        with suppress(KwireError, OSError), BlockingAdminClient(self._cluster.bootstrap) as admin:
            node = self._chance.choice([1, 2, 3, None])
            return admin.run_tool(tool, words, broker_id=node).exit_status == 0
        return False


def test_random_faults_while_tools_run(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    chance = random_times("tools")
    for history in rounds(2):
        workers = [Worker(f"history-{history}-{number}", cluster, chance) for number in range(WORKERS)]
        stop = threading.Event()
        with ThreadPoolExecutor() as pool:
            running = [pool.submit(worker.run, stop) for worker in workers]
            try:
                for _ in range(FAULTS):
                    inject_fault(cluster, admin, chance)
            finally:
                stop.set()
            for future in running:
                future.result()
        wait_consistent(cluster)
        for worker in workers:
            described = admin.describe_topics(sorted(worker.created), configs=True)
            assert all(isinstance(topic, TopicDescription) for topic in described.values()), described
            register = described[worker.register]
            assert isinstance(register, TopicDescription)
            value = int((register.configs or {}).get("segment.ms", SMALLEST)) - SMALLEST
            assert value in worker.values
            for node in cluster.nodes:
                listed = admin.run_tool("topics", ("--list",), broker_id=node.id)
                assert worker.created <= set(listed.output.splitlines()), (node, listed)
        eventually_sync(lambda: not tool_processes(cluster), "the processes of tools have ended")
        admin.delete_topics([name for name in admin.list_topics() if name.startswith("history-")]).raise_first()
    check_new_work(cluster, admin)


def inject_fault(cluster: LocalCluster, admin: BlockingAdminClient, chance: Random) -> None:
    """Kill or suspend the controller, another node, or ZooKeeper for some time."""
    kind = chance.choice(("kill", "kill", "suspend", "ZooKeeper"))
    victim = chance.choice([controller_id(admin), 1, 2, 3])
    away = threading.Event()
    if kind == "kill":
        cluster.kill_node(victim)
        away.wait(chance.uniform(0, 1))
        cluster.start_node(victim)
    elif kind == "suspend":
        cluster.pause_node(victim)
        away.wait(chance.uniform(0.5, 1.5) * SESSION_SECONDS)
        cluster.resume_node(victim)
    else:
        cluster.zookeeper.kill()
        away.wait(chance.uniform(0, 1))
        cluster.zookeeper.start()
    away.wait(chance.uniform(0, 1))


def tool_processes(cluster: LocalCluster) -> list[str]:
    """Return the processes of tools that belong to a node of the cluster, or to none any more."""
    command = ["ps", "-e", "-o", "ppid=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    parents = {"1", *(str(node.pid) for node in cluster.nodes)}
    tools = (
        line.split(maxsplit=1) for line in listed if "kwire_zookeeper_tools.process" in line and sys.executable in line
    )
    return [program for parent, program in tools if parent in parents]
