"""Settings in ZooKeeper: transactions, writers that meet, and the audit."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.config import audit
from kwire_cluster.config.audit import read_audit
from kwire_cluster.config.stored_configs import (
    ConfigConflict,
    broker_entity,
    change_config,
    read_config,
)
from kwire_cluster.zookeeper import ConfigChangeNotification
from tests.cluster.memory_store import InjectedFault, MemoryZooKeeper

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from kwire_cluster.config.stored_configs import VersionedConfig
    from tests.cluster.memory_store import MemoryStore

EVERY = broker_entity(None)


@asynccontextmanager
async def sessions(count: int = 1) -> AsyncGenerator[tuple[MemoryZooKeeper, list[MemoryStore]]]:
    memory = MemoryZooKeeper()
    stores = [memory.session() for _ in range(count)]
    try:
        yield memory, stores
    finally:
        for store in stores:
            await store.close()


async def change(store: MemoryStore, changes: Mapping[str, str | None], entity: str = EVERY) -> VersionedConfig:
    return await change_config(store, entity, changes, author="tests", node_id=1)


async def test_change_notification_and_audit_are_one_transaction() -> None:
    async with sessions() as (memory, [store]):
        assert (await change(store, {"a": "1", "b": "2"})).version == 0
        written = await change(store, {"a": None, "c": "3"})
        assert (dict(written.config.config), written.version) == ({"b": "2", "c": "3"}, 1)
        assert await read_config(store, EVERY) == written
        names = memory.tree.get(ConfigChangeNotification.root).children
        assert len(names) == 2
        entries = await read_audit(store, 10)
        assert [(entry.author, entry.node_id, entry.entity, dict(entry.changes)) for entry in entries] == [
            ("tests", 1, "brokers/<default>", {"a": (None, "1"), "b": (None, "2")}),
            ("tests", 1, "brokers/<default>", {"a": ("1", None), "c": (None, "3")}),
        ]


async def test_change_to_the_same_values_writes_nothing() -> None:
    async with sessions() as (_, [store]):
        first = await change(store, {"a": "1"})
        assert await change(store, {"a": "1", "gone": None}) == first
        assert len(await read_audit(store, 10)) == 1


async def test_secrets_are_not_in_the_audit() -> None:
    async with sessions() as (_, [store]):
        await change_config(store, EVERY, {"p": "hunter2"}, author="tests", node_id=1, hide=frozenset({"p"}))
        [entry] = await read_audit(store, 10)
        assert entry.changes == {"p": (None, "(hidden)")}


async def test_second_writer_of_the_same_setting_gets_an_error() -> None:
    async with sessions(2) as (_, [first, second]):
        seen = await change(first, {"a": "1"})
        await change(second, {"a": "2"})
        with pytest.raises(ConfigConflict, match="version 1 is not 0"):
            await change_config(first, EVERY, {"a": "3"}, author="tests", node_id=1, if_version=seen.version)
        assert (await read_config(first, EVERY)).config.config == {"a": "2"}


async def test_writers_that_meet_on_one_setting_do_not_both_succeed_unknowingly() -> None:
    async with sessions(8) as (_, stores):
        await change(stores[0], {"a": "start"})
        results = await asyncio.gather(
            *(change(store, {"a": str(number)}) for number, store in enumerate(stores)), return_exceptions=True
        )
        told = [result for result in results if isinstance(result, ConfigConflict)]
        assert len(told) + len(await read_audit(stores[0], 100)) == len(stores) + 1
        assert told
        assert "was changed from 'start' to" in str(told[0])


async def test_writers_of_different_settings_both_succeed() -> None:
    async with sessions(8) as (_, stores):
        await asyncio.gather(*(change(store, {f"s{number}": "1"}) for number, store in enumerate(stores)))
        assert len((await read_config(stores[0], EVERY)).config.config) == len(stores)


@pytest.mark.parametrize("fault", [InjectedFault.LOSE_REQUEST, InjectedFault.LOSE_RESPONSE])
async def test_lost_connection_is_repaired(fault: InjectedFault) -> None:
    async with sessions() as (memory, [store]):
        await change(store, {"a": "1"})
        faults = [fault]
        memory.inject_fault = lambda *_: faults.pop() if faults else InjectedFault.NONE
        assert (await change(store, {"a": "2"})).config.config == {"a": "2"}
        assert (await read_config(store, EVERY)).version == 1
        assert len(await read_audit(store, 10)) == 2


async def test_audit_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_AUDIT_ENTRIES", 5)
    monkeypatch.setattr(audit, "AUDIT_SLACK", 2)
    async with sessions() as (memory, [store]):
        for number in range(20):
            await change(store, {"a": str(number)})
        assert 5 <= len(memory.tree.get(audit.AUDIT).children) <= 7
        assert (await read_audit(store, 1))[0].changes == {"a": ("18", "19")}


async def test_other_keys_of_the_znode_are_kept() -> None:
    async with sessions() as (memory, [store]):
        await change(store, {"a": "1"})
        await store.set(f"/config/{EVERY}", b'{"version":1,"config":{"a":"1"},"note":[1,2]}')
        await change(store, {"b": "2"})
        assert memory.tree.get(f"/config/{EVERY}").data == b'{"version":1,"config":{"a":"1","b":"2"},"note":[1,2]}'
