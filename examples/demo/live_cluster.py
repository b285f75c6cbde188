"""Part of the demo: three nodes and a ZooKeeper as real processes.

Topics are created and changed, and a node is killed and restarted, while a poller captures the metadata. At the end the
pipeline finds the same events in the capture.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from examples.demo.incident_report import report_incidents
from examples.demo.terminal import DemoContext, print_line, print_title, step
from kwire.capture import Capture
from kwire.client import BlockingPoller
from kwire.client.admin import BlockingAdminClient, NewTopic, TopicChange, TopicDescription
from kwire_cluster import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOPICS, PARTITIONS, REPLICAS, NODES = 20, 6, 2, 3
INTERVAL = 0.25
SESSION = 6.0
"""ZooKeeper session timeout in seconds, after which a killed node counts as dead; Kafka's default is 18."""
PAUSE = 3.5
"""Seconds between two changes; the pipeline merges changes within 3 s into one incident."""


def run(context: DemoContext) -> None:
    """Run this part."""
    with tempfile.TemporaryDirectory(prefix="kwire-demo-") as folder:
        capture = Path(folder) / "capture"
        with LocalCluster(NODES, data=Path(folder) / "cluster", session_timeout=SESSION) as cluster:
            print_line(f"ZooKeeper at {cluster.zookeeper.hosts}, nodes at {cluster.bootstrap}")
            with capturing(cluster.bootstrap, capture), BlockingAdminClient(cluster.bootstrap) as admin:
                time.sleep(PAUSE)
                change_cluster(cluster, admin)
                time.sleep(PAUSE)
        print_title("The same events, found by the pipeline in the capture")
        report_incidents(capture, context, "live-cluster.html")


def change_cluster(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """Change topics, kill and restart a node, elect leaders, and delete topics."""
    names = [f"demo-{number:02}" for number in range(TOPICS)]
    with step(f"{TOPICS} topics of {PARTITIONS} partitions created in one batch, and known to every node"):
        admin.create_topics(
            dict.fromkeys(names, NewTopic(partitions=PARTITIONS, replication_factor=REPLICAS))
        ).raise_first()
        admin.wait_until_created(names)
    time.sleep(PAUSE)
    grown = names[:2]
    with step(f"{', '.join(grown)} extended to {2 * PARTITIONS} partitions"):
        admin.alter_topics(dict.fromkeys(grown, TopicChange(partitions=2 * PARTITIONS))).raise_first()
        admin.wait_until_created(dict.fromkeys(grown, 2 * PARTITIONS))
    time.sleep(PAUSE)
    moved = new_replicas(admin, names[-1])
    with step(f"{len(moved)} partitions of {names[-1]} reassigned to other nodes"):
        admin.reassign_partitions({names[-1]: moved}).raise_first()
        admin.wait_until_reassigned({names[-1]: moved})
    time.sleep(PAUSE)
    controller = admin.describe_cluster().controller
    victim = next(node for node in (3, 2) if controller is None or node != controller.id)
    print_line(f"           leaders: {leaders(admin)}")
    with step(f"node {victim} killed (SIGKILL), and its partitions led by others"):
        cluster.kill_node(victim)
        wait(lambda: victim not in leader_counts(admin))
    print_line(f"           leaders: {leaders(admin)}")
    time.sleep(PAUSE)
    with step(f"node {victim} restarted, and in sync"):
        cluster.start_node(victim)
        wait(lambda: in_sync(admin))
    time.sleep(PAUSE)
    with step("preferred leaders elected"):
        admin.elect_leaders()
        admin.wait_until_preferred()
    print_line(f"           leaders: {leaders(admin)}")
    time.sleep(PAUSE)
    with step(f"{TOPICS // 2} topics deleted"):
        admin.delete_topics(names[: TOPICS // 2]).raise_first()
        admin.wait_until_deleted(names[: TOPICS // 2])


@contextmanager
def capturing(bootstrap: str, folder: Path) -> Iterator[None]:
    """Poll all nodes into a capture during the block."""
    stop = threading.Event()
    failed: list[BaseException] = []

    def poll() -> None:
        try:
            with (
                Capture(folder) as capture,
                BlockingPoller(
                    bootstrap, dialect="kip4", interval=INTERVAL, capture=capture, longest_pause=0.5, cluster_id="demo"
                ) as poller,
            ):
                while not stop.is_set():
                    poller.read(0.5)
        except BaseException as error:  # noqa: BLE001  # raised again in the main thread
            failed.append(error)

    polling = threading.Thread(target=poll, name="poller")
    polling.start()
    try:
        yield
    finally:
        stop.set()
        polling.join()
    if failed:
        raise failed[0]


def new_replicas(admin: BlockingAdminClient, topic: str) -> dict[int, tuple[int, ...]]:
    """Return new replicas for each partition: the last one is replaced by a node without a replica."""
    described = admin.describe_topics([topic])[topic]
    assert isinstance(described, TopicDescription)
    return {
        each.partition: (*each.replicas[:-1], next(node for node in range(1, NODES + 1) if node not in each.replicas))
        for each in described.partitions
    }


def leader_counts(admin: BlockingAdminClient) -> Counter[int | None]:
    """Return how many partitions each node leads; None counts those without a leader."""
    described = admin.describe_topics().values()
    return Counter(
        each.leader for topic in described if isinstance(topic, TopicDescription) for each in topic.partitions
    )


def leaders(admin: BlockingAdminClient) -> str:
    counts = leader_counts(admin)
    return ", ".join(f"{counts[node]} at node {node}" for node in sorted(filter(None, counts)))


def in_sync(admin: BlockingAdminClient) -> bool:
    return all(
        set(each.isr) == set(each.replicas)
        for topic in admin.describe_topics().values()
        if isinstance(topic, TopicDescription)
        for each in topic.partitions
    )


def wait(condition: Callable[[], bool], timeout: float = 30.0) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: it does not hold in time.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the cluster did not reach the expected state within {timeout} s")
        time.sleep(0.1)
