"""A part of the demo: three nodes and a ZooKeeper, as real processes. Topics are made and changed, a node is killed and
brought back; meanwhile a poller captures what the nodes tell, and at the end the pipeline tells the same story.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from examples.stage import Stage, say, step, title
from examples.story import tell
from kwire.capture import Capture
from kwire.client import BlockingPoller
from kwire.client.admin import BlockingAdminClient, NewTopic, TopicChange, TopicDescription
from kwire.testing import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPICS, PARTITIONS, REPLICAS, NODES = 20, 6, 2, 3
INTERVAL = 0.25
SESSION = 6.0
"""Seconds after which a killed node counts as dead; Kafka's own default is 18."""
BREATH = 4.0
"""Seconds between two things that are done: what comes closer together is one thing to who only watches."""


def show(stage: Stage) -> None:
    """The part."""
    with tempfile.TemporaryDirectory(prefix="kwire-demo-") as folder:
        capture = Path(folder) / "capture"
        with LocalCluster(NODES, data=Path(folder) / "cluster", session_timeout=SESSION) as cluster:
            say(f"ZooKeeper at {cluster.zookeeper.hosts}, nodes at {cluster.bootstrap}")
            with polled(cluster.bootstrap, capture), BlockingAdminClient(cluster.bootstrap) as admin:
                time.sleep(BREATH)
                administer(cluster, admin)
                time.sleep(BREATH)
        title("The same, told by the pipeline out of what the poller saw")
        tell(capture, stage, "live-cluster.html")


def administer(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """What is done to the cluster."""
    names = [f"demo-{number:02}" for number in range(TOPICS)]
    with step(f"{TOPICS} topics of {PARTITIONS} partitions made, in one batch, and told by every node"):
        admin.create_topics(
            dict.fromkeys(names, NewTopic(partitions=PARTITIONS, replication_factor=REPLICAS))
        ).raise_first()
        admin.wait_until_created(names)
    time.sleep(BREATH)
    grown = names[:2]
    with step(f"{', '.join(grown)} grown to {2 * PARTITIONS} partitions"):
        admin.alter_topics(dict.fromkeys(grown, TopicChange(partitions=2 * PARTITIONS))).raise_first()
        admin.wait_until_created(dict.fromkeys(grown, 2 * PARTITIONS))
    time.sleep(BREATH)
    moved = elsewhere(admin, names[-1])
    with step(f"{len(moved)} partitions of {names[-1]} moved to other nodes"):
        admin.reassign_partitions({names[-1]: moved}).raise_first()
        admin.wait_until_reassigned({names[-1]: moved})
    time.sleep(BREATH)
    controller = admin.describe_cluster().controller
    victim = next(node for node in (3, 2) if controller is None or node != controller.id)
    say(f"           leaders: {leaders(admin)}")
    with step(f"node {victim} killed (SIGKILL), and all its partitions led by others"):
        cluster.kill_node(victim)
        wait(lambda: victim not in leader_counts(admin))
    say(f"           leaders: {leaders(admin)}")
    time.sleep(BREATH)
    with step(f"node {victim} started again, and in sync"):
        cluster.start_node(victim)
        wait(lambda: in_sync(admin))
    time.sleep(BREATH)
    with step("preferred replicas elected"):
        admin.elect_leaders()
        admin.wait_until_preferred()
    say(f"           leaders: {leaders(admin)}")
    time.sleep(BREATH)
    with step(f"{TOPICS // 2} topics deleted"):
        admin.delete_topics(names[: TOPICS // 2]).raise_first()
        admin.wait_until_deleted(names[: TOPICS // 2])


@contextmanager
def polled(bootstrap: str, folder: Path) -> Iterator[None]:
    """All nodes are polled into a capture meanwhile."""
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
        except BaseException as error:  # noqa: BLE001  # raised again where the demo waits for this thread
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


def elsewhere(admin: BlockingAdminClient, topic: str) -> dict[int, tuple[int, ...]]:
    """For each partition, replicas with one that it did not have in the place of its last."""
    described = admin.describe_topics([topic])[topic]
    assert isinstance(described, TopicDescription)
    return {
        each.partition: (*each.replicas[:-1], next(node for node in range(1, NODES + 1) if node not in each.replicas))
        for each in described.partitions
    }


def leader_counts(admin: BlockingAdminClient) -> Counter[int | None]:
    """How many partitions each node leads; None for those without a leader."""
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


def wait(condition: object, timeout: float = 30.0) -> None:
    """Until so. Raises TimeoutError."""
    assert callable(condition)
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the cluster does not settle")
        time.sleep(0.1)
