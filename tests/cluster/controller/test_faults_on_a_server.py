"""The faults between any two writes once more, on a real ZooKeeper: sessions that end, answers that are lost."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Any

import pytest

from kwire.cluster.controller.controller import Controller
from kwire.cluster.controller.errors import NotController
from kwire.cluster.controller.state_loader import list_descendants
from kwire.cluster.zookeeper.brokers import BrokerEndpoint, BrokerRegistration
from kwire.cluster.zookeeper.errors import SessionExpired
from kwire.cluster.zookeeper.operations import Create, SessionState
from kwire.cluster.zookeeper.store import make_path
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.cluster.controller.clusters import SETTINGS, Cluster, run
from tests.cluster.controller.test_faults import PREPARED, SCENARIOS, Scenario, whole
from tests.cluster.zookeeper.ensembles import ServerEnsemble

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire.cluster.zookeeper.store import Store


class Counted:
    """A store whose writes are counted, and which meets its fault just before one of them."""

    def __init__(self, store: Store, ensemble: ServerEnsemble) -> None:
        self._store = store
        self._ensemble = ensemble
        self._listeners: list[Callable[[SessionState], None]] = []
        self.fault = "none"
        self.left = -1
        self.writes = 0
        self.happened = False
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        if self.dead and name in {"get", "get_many", "exists", "children", "sync", "multi", "create", "set", "delete"}:
            return self._refused
        if name in {"multi", "create", "set", "delete"}:
            return lambda *arguments, **keywords: self._write(name, *arguments, **keywords)
        return getattr(self._store, name)

    @property
    def state(self) -> SessionState:
        return SessionState.EXPIRED if self.dead else self._store.state

    def listen(self, listener: Callable[[SessionState], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return self._store.listen(listener)

    def _refused(self, *_: object, **__: object) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(SessionExpired("/"))
        return future

    def _write(self, name: str, *arguments: Any, **keywords: Any) -> asyncio.Future[Any]:
        if self.dead:
            return self._refused()
        self.writes += 1
        self.left -= 1
        if self.left == -1 and self.fault == "dies":
            self.dead = self.happened = True
            for listener in self._listeners:
                listener(SessionState.EXPIRED)
            return self._refused()
        if self.left == -1 and self.fault == "loses answers":
            self.happened = True
            self._ensemble.lose_responses(self._store)
            asyncio.get_running_loop().call_later(0.03, self._ensemble.disconnect, self._store)
        result: asyncio.Future[Any] = getattr(self._store, name)(*arguments, **keywords)
        return result


async def told(broker_id: int, message: UpdateMetadataRequest) -> UpdateMetadataResponse:
    del broker_id, message
    return UpdateMetadataResponse(error_code=0)


async def rest(controller: Controller) -> None:
    """Until it has nothing left to do."""
    await controller.wait_active()
    while True:
        await asyncio.sleep(0.02)
        await controller.drain()
        await asyncio.sleep(0.02)
        if controller.queue_size == 0:
            return


async def copied(store: Store) -> Cluster:
    """What is on the server, in memory, where it is easier to look at."""
    cluster = Cluster()
    await store.sync()
    for root in ("/brokers", "/config", "/admin"):
        paths = [root, *await list_descendants(store, root)]
        for path, node in zip(paths, await store.get_many(paths), strict=True):
            if node is not None:
                cluster.memory.tree.apply([Create(path, node.data)], 0, ())
    return cluster


async def scenario_with_fault(
    server: EmbeddedZooKeeper, scenario: Scenario, fault: str, at: int
) -> tuple[int, bool, bool]:
    """Writes counted, whether the fault happened, whether the work was acknowledged."""
    ensemble = ServerEnsemble(server)
    brokers, first, second = [await ensemble.session() for _ in range(3)]
    victim = Counted(first, ensemble)
    old: Any = Controller(victim, 1, told, SETTINGS, random.Random(1))
    new = Controller(second, 2, told, SETTINGS, random.Random(2))
    try:
        await make_path(brokers, BrokerRegistration.root)
        for broker in (1, 2, 3):
            data = BrokerRegistration((BrokerEndpoint("PLAINTEXT", "localhost", 9092),)).encode()
            await brokers.create(BrokerRegistration.path(broker), data, ephemeral=True)
        await old.start()
        await old.wait_active()
        await old.create_topics(PREPARED)
        await rest(old)
        victim.writes, victim.left, victim.fault = 0, at, fault
        acknowledged = False
        with contextlib.suppress(NotController):
            outcomes = await scenario.work(old)
            assert all(outcome.error is None for outcome in outcomes), outcomes
            acknowledged = True
            await rest(old)
        await new.start()
        if victim.dead:
            await ensemble.expire(first)
            await rest(new)
        cluster = await copied(brokers)
        whole(cluster)
        scenario.check(cluster, acknowledged)
        await cluster.stop()
        return victim.writes, victim.happened, acknowledged
    finally:
        await old.stop()
        await new.stop()
        await ensemble.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_on_a_server(server: EmbeddedZooKeeper, name: str) -> None:
    async def work() -> None:
        scenario = SCENARIOS[name]
        writes, _, acknowledged = await scenario_with_fault(server, scenario, "none", -1)
        assert acknowledged
        assert writes >= 3
        for fault in ("dies", "loses answers"):
            for at in range(writes):
                _, happened, acknowledged = await scenario_with_fault(server, scenario, fault, at)
                assert happened, f"write {at} of {writes} was not reached"
                assert acknowledged or fault == "dies"

    run(work())
