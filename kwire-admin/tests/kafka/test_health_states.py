"""`kafka cluster health` in twelve states of real clusters of three brokers, one start of each version.

Brokers are dead, paused, full, or cut off from the others (and from ZooKeeper), one, two, or two in different ways. In
each state health names every sick broker, with a problem that fits, and nothing in the state after it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import confluent_kafka
import pytest

from tests.cli.administration import Operator
from tests.eventually import eventually_sync
from tests.kafka.partitioned_network import ZOOKEEPER, Partitioned39, Partitioned44

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Partitioned: TypeAlias = Partitioned39 | Partitioned44

pytestmark = pytest.mark.programs

BROKERS = (1, 2, 3)
CONFIG = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "8000",
    "zookeeper.session.timeout.ms": "6000",
}
PATIENCE_S = "12"
"""Timeout of a request: a silent broker takes a sixth of it."""
BALLAST = "ballast"
FITTING = {
    "dead": {"broker-unreachable"},
    "paused": {"broker-unreachable"},
    "full": {"log-dir-full", "log-dir-offline"},
    "cut off": {"views-differ", "quorum-unreachable", "voter-behind", "broker-fenced"},
}
"""By fault, the problems that name a sick broker."""
CERTAIN = {"broker-unreachable", "log-dir-full", "log-dir-offline"}
"""Problems that name no healthy broker."""
STATES: tuple[tuple[str, ...], ...] = (
    ("dead",),
    ("paused",),
    ("full",),
    ("cut off",),
    ("dead", "dead"),
    ("paused", "paused"),
    ("full", "full"),
    ("cut off", "cut off"),
    ("dead", "paused"),
    ("dead", "full"),
    ("paused", "cut off"),
    ("full", "cut off"),
)
"""The faults of the states. The controller has the first one, if there are two."""


@pytest.fixture(scope="module")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Path]]:
    """Return a small volume of each broker. Mounting needs root, or `sudo` without a password."""
    with ExitStack() as stack:
        by_broker = {broker: tmp_path_factory.mktemp(f"volume-{broker}") for broker in BROKERS}
        for volume in by_broker.values():
            privileged("mount", "-t", "tmpfs", "-o", "size=16m,mode=0777", "tmpfs", str(volume))
            stack.callback(privileged, "umount", "--lazy", str(volume))
        yield by_broker


def privileged(*command: str) -> None:
    subprocess.run([*([] if os.geteuid() == 0 else ["sudo", "-n"]), *command], check=True)


@pytest.fixture(scope="module", params=[Partitioned44, Partitioned39])
def cluster(request: pytest.FixtureRequest, volumes: dict[int, Path]) -> Iterator[Partitioned]:
    log_dirs = {broker: volume / request.param.version for broker, volume in volumes.items()}
    with request.param(3, CONFIG, log_dirs) as cluster:
        Operator(cluster.bootstrap).json("topics", "create", "sick", "-p", "6", "-r", "3")
        yield cluster


def problems(cluster: Partitioned) -> list[tuple[str, int | None]]:
    run = Operator(cluster.bootstrap).run("-o", "json", "--timeout", PATIENCE_S, "cluster", "health")
    assert run.code in (0, 6), run.err
    return [(row["problem"], row["broker"]) for row in json.loads(run.out)]


def infect(cluster: Partitioned, volumes: dict[int, Path], sick: dict[int, str]) -> None:
    for id, fault in sick.items():
        broker = cluster.brokers[id - 1]
        if fault == "dead":
            broker.kill()
        elif fault == "paused":
            broker.send_signal(signal.SIGSTOP)
        elif fault == "full":
            with suppress(OSError), (volumes[id] / BALLAST).open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
    cluster.network.cut_off({id for id, fault in sick.items() if fault == "cut off"})


def heal(cluster: Partitioned, volumes: dict[int, Path], sick: dict[int, str]) -> None:
    cluster.network.heal()
    for id, fault in sick.items():
        broker = cluster.brokers[id - 1]
        if fault == "paused":
            broker.send_signal(signal.SIGCONT)
        elif fault == "full":
            (volumes[id] / BALLAST).unlink()
            broker.kill()  # a log directory stays offline until its broker starts again
    restarted = [cluster.brokers[id - 1] for id, fault in sick.items() if fault in ("dead", "full")]
    if isinstance(cluster, Partitioned44):
        for broker in restarted:  # two of three voters wait for each other
            broker.launch()
        for broker in restarted:
            broker.wait_until_started()
    else:
        for broker in restarted:
            broker.start()


def controller(cluster: Partitioned) -> int:
    [described] = Operator(cluster.bootstrap).json("cluster", "describe")
    return int(described["controller"])


@pytest.mark.parametrize("faults", STATES, ids=" and ".join)
def test_health_names_every_sick_broker(
    cluster: Partitioned, volumes: dict[int, Path], faults: tuple[str, ...]
) -> None:
    found: list[tuple[str, int | None]] = []

    def is_healthy() -> bool:
        found[:] = problems(cluster)
        return not found

    def is_named(id: int) -> bool:
        if any(problem in FITTING[sick[id]] and id == broker for problem, broker in found):
            return True
        # Without a majority, a voter that is cut off is like any other one.
        has_majority = isinstance(cluster, Partitioned39) or sum(fault != "full" for fault in faults) < 2
        return sick[id] == "cut off" and not has_majority and ("no-quorum", None) in found

    def is_each_named() -> bool:
        found[:] = problems(cluster)
        return all(is_named(id) for id in sick)

    assert becomes(is_healthy, within=150), found
    # Of two faults, the controller has the first one. Of one fault it has none, so that both are tested.
    first = controller(cluster)
    others = [id for id in BROKERS if id != first]
    sick = dict(zip([first, *others] if len(faults) > 1 else others, faults, strict=False))
    infect(cluster, volumes, sick)
    try:
        assert becomes(is_each_named, within=60), (sick, found)
        assert {broker for problem, broker in found if problem in CERTAIN} <= sick.keys(), found
    finally:
        heal(cluster, volumes, sick)


def test_brokers_without_zookeeper_are_not_healthy(cluster: Partitioned) -> None:
    """They name the controller of before, and no answer of theirs differs."""
    if isinstance(cluster, Partitioned44):
        assert "zookeeper-unreachable" not in {problem for problem, _ in problems(cluster)}
        return
    assert becomes(lambda: not problems(cluster), within=150)
    cluster.pause_zookeeper()
    try:
        assert becomes(lambda: ("zookeeper-unreachable", None) in problems(cluster), within=30)
    finally:
        cluster.resume_zookeeper()
    assert becomes(lambda: not problems(cluster), within=150), problems(cluster)


@pytest.mark.parametrize("cut_off", [1, 2])
def test_brokers_that_reach_only_zookeeper_are_not_healthy(cluster: Partitioned, cut_off: int) -> None:
    """They stay registered, and their metadata stays as it was. Replicas that stop fetching are the only sign."""
    if isinstance(cluster, Partitioned44):
        return  # without ZooKeeper, they are cut off from everything
    assert becomes(lambda: not problems(cluster), within=150)
    first = controller(cluster)
    sick = set([broker for broker in BROKERS if broker != first][:cut_off])
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "1"})
    found: list[tuple[str, int | None]] = []

    def is_seen() -> bool:
        for partition in range(6):
            producer.produce("sick", b"record", partition=partition)
        producer.flush(10)
        found[:] = problems(cluster)
        return {broker for problem, broker in found if problem == "replication-stalled"} >= sick

    cluster.network.cut_off(sick, except_from={ZOOKEEPER})
    try:
        assert becomes(is_seen, within=60), (sick, found)
    finally:
        cluster.network.heal()
    assert becomes(lambda: not problems(cluster), within=150), problems(cluster)


def becomes(check: Callable[[], bool], within: float) -> bool:
    """Return whether a condition becomes true in time. The caller shows what it is instead."""
    with suppress(AssertionError):
        return eventually_sync(check, within=within)
    return False
