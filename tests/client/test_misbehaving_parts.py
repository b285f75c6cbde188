"""Random healthy clusters in which one part misbehaves: every call is answered in time, and no poll is a false outage.

The network is simulated, with a clock of its own. So a run takes milliseconds and depends on its seed only.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.client import AdminClient, Poller
from kwire.client.admin import ConfigResource, ConfigResourceType
from kwire.messages.kafka.metadata import MetadataResponseBroker
from kwire.testing import FakeCluster, Misbehavior, NetworkFault, SimulatedNetwork
from kwire.testing.fake_broker import PlannedMisbehavior

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CLUSTERS = 40
"""Number of random clusters; 500 were tried with other seeds."""
THROTTLES = [500, 6000, 60_000, 2**31 - 1]
"""Milliseconds; the last is damaged."""
PORT = 9092
TIMEOUT = 10.0
"""Seconds of the admin client."""
POLL_TIMEOUT, INTERVAL = 2.0, 1.0
TOPICS = ("orders", "payments")
BOUND = 0.25
"""Part of the timeout within which every call is answered: docs/admin.md says a tenth for each silent part, and a call
asks two brokers at most, each over a connection that may be dead."""


class Part(NamedTuple):
    """The misbehaving part.

    Attributes:
        kind: the part and what it does.
        broker: the broker that may be reported as failing; None if none may.
        begin: makes it misbehave.
    """

    kind: str
    broker: int | None
    begin: Callable[[], None]


class Scene:
    """A cluster in a network, and its misbehaving part."""

    def __init__(self, random: Random, cluster: FakeCluster) -> None:
        self.random = random
        self.cluster = cluster
        self.network = SimulatedNetwork()
        self.ids = [broker.node_id for broker in cluster.state.brokers]
        self.addresses: dict[int, list[str]] = {}
        for id in self.ids:
            own = [f"10.0.{id}.{number}" for number in range(1, random.choice([1, 1, 2, 3]) + 1)]
            self.addresses[id] = own
            self.network.add_name(f"broker-{id}", own)
            for address in own:
                self.network.listen(address, PORT, cluster.broker(id).accept)
                self.network.address(address).latency = random.choice([0.0005, 0.005, 0.05])
        brokers = tuple(MetadataResponseBroker(node_id=id, host=f"broker-{id}", port=PORT) for id in self.ids)
        for id in self.ids:
            cluster.freeze_metadata(id, replace(cluster.state, brokers=brokers))
        self.part = self.choose()
        healthy = [id for id in self.ids if id != self.part.broker]
        others = [id for id in self.ids if random.random() < 0.5]
        bootstrap = list(dict.fromkeys([random.choice(healthy), *others]))
        random.shuffle(bootstrap)
        self.bootstrap = ",".join(f"broker-{id}:{PORT}" for id in bootstrap)
        self.starts_at = random.choice([0.0, 0.0, random.uniform(0.5, 8.0)])

    def choose(self) -> Part:
        random = self.random
        several = [id for id in self.ids if len(self.addresses[id]) > 1]
        kinds = [
            "connections",
            "throttle",
            "lying",
            "broker",
            "broker",
            "broker",
            *(["address"] * 3 if several else []),
        ]
        match random.choice(kinds):
            case "address":
                chosen, fault = random.choice(self.addresses[random.choice(several)]), random.choice([*NetworkFault])
                return Part(f"address {fault}", None, lambda: self.set_fault([chosen], fault))
            case "broker":
                id, fault = random.choice(self.ids), random.choice([*NetworkFault, "hangs", "slow"])
                if fault == "hangs":
                    return Part("broker hangs", id, lambda: setattr(self.cluster.broker(id), "paused", True))
                if fault == "slow":
                    return Part("broker slow", None, lambda: setattr(self.cluster.broker(id), "delay", 0.6))
                return Part(f"broker {fault}", id, lambda: self.set_fault(self.addresses[id], NetworkFault(fault)))
            case "connections":
                ids = random.choice([self.ids, [random.choice(self.ids)]])
                limit = random.choice([0.7, 3.0])
                return Part("connections forgotten", None, lambda: self.forget(ids, limit))
            case "throttle":
                id, throttle_ms = random.choice(self.ids), random.choice([500, 6000, 60_000, 2**31 - 1])
                return Part(
                    "broker throttles", None, lambda: setattr(self.cluster.broker(id), "throttle_ms", throttle_ms)
                )
            case _:
                id, lie = random.choice(self.ids), random.choice([*Misbehavior])
                planned = PlannedMisbehavior(lie, None)
                return Part(f"broker lies: {lie}", id, lambda: self.cluster.broker(id).plan(planned, None))

    def set_fault(self, addresses: list[str], fault: NetworkFault) -> None:
        for address in addresses:
            self.network.address(address).fault = fault

    def forget(self, ids: list[int], limit: float) -> None:
        for id in ids:
            for address in self.addresses[id]:
                self.network.address(address).idle_limit = limit


async def misbehave(scene: Scene) -> None:
    await asyncio.sleep(scene.starts_at)
    scene.part.begin()


async def call(scene: Scene, problems: list[str], name: str, work: Callable[[], Awaitable[Any]]) -> Any:
    """Return what a call returns, and report if it fails or takes too long."""
    begun = scene.network.loop.time()
    try:
        result = await work()
    except Exception as error:  # noqa: BLE001  # any error is reported
        problems.append(f"{name} failed after {scene.network.loop.time() - begun:.2f} s: {error!r}")
        return None
    seconds = scene.network.loop.time() - begun
    if seconds > BOUND * TIMEOUT:
        problems.append(f"{name} took {seconds:.2f} s of {TIMEOUT:g}")
    return result


async def administer(scene: Scene, problems: list[str]) -> None:
    beginning = asyncio.create_task(misbehave(scene))
    await asyncio.sleep(0)
    admin = await call(scene, problems, "open", lambda: AdminClient.open(scene.bootstrap, timeout=TIMEOUT))
    if admin is None:
        return
    resource = ConfigResource(ConfigResourceType.TOPIC, "orders")
    async with admin:
        for _ in range(4):
            assert sorted(await call(scene, problems, "list_topics", admin.list_topics) or TOPICS) == [*TOPICS]
            await call(scene, problems, "describe_topics", lambda: admin.describe_topics(["orders"]))
            await call(scene, problems, "describe_cluster", admin.describe_cluster)
            await call(scene, problems, "describe_configs", lambda: admin.describe_configs([resource]))
            await asyncio.sleep(scene.random.choice([0.0, 0.5, 4.0]))
    await beginning


async def poll(scene: Scene, problems: list[str]) -> None:
    beginning = asyncio.create_task(misbehave(scene))
    await asyncio.sleep(0)
    answered = dict.fromkeys(scene.ids, 0)
    async with Poller(scene.bootstrap, interval=INTERVAL, timeout=POLL_TIMEOUT) as poller:
        with suppress(TimeoutError):
            async with asyncio.timeout(20):
                async for polled in poller:
                    id = polled.broker_id
                    if polled.error is None:
                        answered[id] += 1
                    elif scene.part.broker is None or id not in {scene.part.broker, -1}:
                        problems.append(f"false outage of broker {id}: {polled.error!r}")
    muted = scene.part.kind == "broker throttles"
    for id, count in answered.items():
        if id != scene.part.broker and count < 12 and not muted:
            problems.append(f"broker {id} was polled {count} times in 20 s")
    await beginning


def problems_of(seed: int) -> tuple[str, list[str]]:
    """Return the misbehaving part of a random cluster, and what was wrong with calls and polls."""
    problems: list[str] = []
    kind = ""
    for work in (administer, poll):
        random = Random(seed)
        with closing(FakeCluster(random.choice([2, 3, 3, 4]), topics=TOPICS, partitions=3, seed=seed)) as cluster:
            scene = Scene(random, cluster)
            kind = scene.part.kind
            scene.network.run(work(scene, problems))
    return kind, problems


def test_one_misbehaving_part_stops_no_call_and_no_poll_of_others() -> None:
    failed = {seed: (kind, problems) for seed in range(CLUSTERS) for kind, problems in [problems_of(seed)] if problems}
    assert not failed
