"""The fault tests on a ZooKeeper server: expired sessions and lost responses."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Any

import pytest

from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kwire_cluster.config.live_config import LiveConfig
from kwire_cluster.controller.controller import Controller
from kwire_cluster.controller.errors import NotController
from kwire_cluster.controller.state_loader import list_descendants
from kwire_cluster.zookeeper.brokers import BrokerRegistration, RegisteredEndpoint
from kwire_cluster.zookeeper.errors import SessionExpired
from kwire_cluster.zookeeper.operations import Create, SessionState, Znode
from kwire_cluster.zookeeper.store import make_path
from tests.cluster.controller.clusters import SETTINGS, Cluster
from tests.cluster.controller.test_faults import PREPARED, SCENARIOS, Scenario, check_znodes
from tests.cluster.zookeeper.ensembles import ServerEnsemble

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire_cluster.zookeeper.store import Store

pytestmark = pytest.mark.nightly


class FaultyStore:
    """A store that counts its writes and fails before one of them."""

    def __init__(self, store: Store, ensemble: ServerEnsemble) -> None:
        self._store = store
        self._ensemble = ensemble
        self._listeners: list[Callable[[SessionState], None]] = []
        self.fault = "none"
        self.writes_left = -1
        self.writes = 0
        self.happened = False
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        if self.dead and name in {"get", "get_many", "exists", "children", "sync", "multi", "create", "set", "delete"}:
            return self._expired
        if name in {"multi", "create", "set", "delete"}:
            return lambda *arguments, **keywords: self._write(name, *arguments, **keywords)
        return getattr(self._store, name)

    @property
    def state(self) -> SessionState:
        return SessionState.EXPIRED if self.dead else self._store.state

    def listen(self, listener: Callable[[SessionState], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return self._store.listen(listener)

    def _expired(self, *_: object, **__: object) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(SessionExpired("/"))
        return future

    def _write(self, name: str, *arguments: Any, **keywords: Any) -> asyncio.Future[Any]:
        if self.dead:
            return self._expired()
        self.writes += 1
        self.writes_left -= 1
        if self.writes_left == -1 and self.fault == "session expires":
            self.dead = self.happened = True
            for listener in self._listeners:
                listener(SessionState.EXPIRED)
            return self._expired()
        if self.writes_left == -1 and self.fault == "responses are lost":
            self.happened = True
            self._ensemble.lose_responses(self._store)
            asyncio.get_running_loop().call_later(0.03, self._ensemble.disconnect, self._store)
        result: asyncio.Future[Any] = getattr(self._store, name)(*arguments, **keywords)
        return result


async def accept_metadata(broker_id: int, message: UpdateMetadataRequest) -> UpdateMetadataResponse:
    del broker_id, message
    return UpdateMetadataResponse(error_code=0)


async def wait_idle(controller: Controller) -> None:
    """Wait until the controller has no pending work."""
    await controller.wait_active()
    while True:
        await asyncio.sleep(0.02)
        await controller.drain()
        await asyncio.sleep(0.02)
        if controller.queue_size == 0:
            return


async def copy_to_memory(store: Store) -> Cluster:
    """Copy the znodes of the server into a cluster in memory, for the checks."""
    cluster = Cluster()
    await store.sync()
    for root in ("/brokers", "/config", "/admin"):
        paths = [root, *await list_descendants(store, root)]
        for path, znode in zip(paths, await store.get_many(paths), strict=True):
            if isinstance(znode, Znode):
                cluster.memory.tree.apply([Create(path, znode.data)], 0, ())
    return cluster


async def run_with_fault(server: EmbeddedZooKeeper, scenario: Scenario, fault: str, at: int) -> tuple[int, bool, bool]:
    """Return the number of writes, whether the fault happened, and whether the request was acknowledged."""
    ensemble = ServerEnsemble(server)
    brokers, first, second = [await ensemble.session() for _ in range(3)]
    victim = FaultyStore(first, ensemble)
    old: Any = Controller(victim, 1, accept_metadata, LiveConfig(SETTINGS), random.Random(1))
    new = Controller(second, 2, accept_metadata, LiveConfig(SETTINGS), random.Random(2))
    try:
        await make_path(brokers, BrokerRegistration.root)
        for broker in (1, 2, 3):
            data = BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "localhost", 9092),)).encode()
            await brokers.create(BrokerRegistration.path(broker), data, ephemeral=True)
        await old.start()
        await old.wait_active()
        await old.create_topics(PREPARED)
        await wait_idle(old)
        victim.writes, victim.writes_left, victim.fault = 0, at, fault
        acknowledged = False
        with contextlib.suppress(NotController):
            outcomes = await scenario.work(old)
            assert all(outcome.error is None for outcome in outcomes), outcomes
            acknowledged = True
            await wait_idle(old)
        await new.start()
        if victim.dead:
            await ensemble.expire(first)
            await wait_idle(new)
        cluster = await copy_to_memory(brokers)
        check_znodes(cluster)
        scenario.check(cluster, acknowledged)
        await cluster.stop()
        return victim.writes, victim.happened, acknowledged
    finally:
        await old.stop()
        await new.stop()
        await ensemble.close()


@pytest.mark.parametrize("name", SCENARIOS)
async def test_fault_at_any_write_loses_nothing_on_a_server(server: EmbeddedZooKeeper, name: str) -> None:
    scenario = SCENARIOS[name]
    writes, _, acknowledged = await run_with_fault(server, scenario, "none", -1)
    assert acknowledged
    assert writes >= 3
    for fault in ("session expires", "responses are lost"):
        for at in range(writes):
            _, happened, acknowledged = await run_with_fault(server, scenario, fault, at)
            assert happened, f"write {at} of {writes} was not reached"
            assert acknowledged or fault == "session expires"
