"""`kafka zookeeper show` on znodes in memory, and the addresses that it takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kwire_admin.cli import run
from kwire_zookeeper_tools.verbs.zookeeper.show import _rows
from tests.cluster.memory_store import MemoryZooKeeper

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTROLLER = {"version": 1, "brokerid": 1, "timestamp": "1700000000000"}
BROKERS = {f"/brokers/ids/{number}": {"version": 1, "host": "h", "port": 9092, "jmx_port": -1} for number in (1, 2)}


def topic(adding: list[int], replicas: list[int], **fields: Any) -> dict[str, Any]:
    moves = {"adding_replicas": {"0": adding} if adding else {}, "removing_replicas": {}}
    return {"version": 2, "partitions": {"0": replicas}, **moves, **fields}


async def shown(znodes: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what blocks each piece of work, by its meaning, without the rows of every cluster."""
    session = MemoryZooKeeper().session()
    created: set[str] = set()
    for path, data in {"/controller": CONTROLLER, "/controller_epoch": b"3", **BROKERS, **znodes}.items():
        names = path.strip("/").split("/")
        for depth in range(1, len(names)):
            parent = f"/{'/'.join(names[:depth])}"
            if parent not in created:
                created.add(parent)
                await session.create(parent, b"")
        created.add(path)
        await session.create(path, data if isinstance(data, bytes) else json.dumps(data).encode())
    rows = [row async for row in _rows(session)]
    await session.close()
    assert [row.path for row in rows[:3]] == ["/controller", "/controller_epoch", "/brokers/ids"]
    return {row.meaning: row.blocked_by for row in rows[3:]}


@pytest.mark.parametrize(
    ("adding", "replicas", "reason"),
    [
        ([], [1, 2], None),
        ([], [1, 3], "broker 3 is down"),
        ([], [1, 3, 4], "3, 4 are down"),
        ([2], [1, 2], "partitions of the topic are being reassigned"),
        (
            [7],
            [1, 7],
            "partitions of the topic are being reassigned to 7, which cannot end: start this broker, or cancel it",
        ),
        (
            [7, 8],
            [1, 7, 8],
            "partitions of the topic are being reassigned to 7, 8, which cannot end: start these brokers, or cancel it",
        ),
    ],
)
async def test_deletion_names_what_it_waits_for(adding: list[int], replicas: list[int], reason: str | None) -> None:
    znodes = {"/brokers/topics/orders": topic(adding, replicas), "/admin/delete_topics/orders": b""}

    assert (await shown(znodes))["topic orders is marked for deletion"] == reason


async def test_deletion_names_a_requested_reassignment() -> None:
    partition = {"topic": "orders", "partition": 0, "replicas": [1, 7]}
    znodes = {
        "/brokers/topics/orders": topic([], [1, 2]),
        "/admin/delete_topics/orders": b"",
        "/admin/reassign_partitions": {"version": 1, "partitions": [partition]},
    }

    assert (await shown(znodes))["topic orders is marked for deletion"] == (
        "partitions of the topic are being reassigned to 7, which cannot end: start this broker, or cancel it"
    )


async def test_mark_without_its_topic_is_explained() -> None:
    rows = await shown({"/brokers/topics": b"", "/admin/delete_topics/gone": b""})

    assert rows == {"topic gone is marked for deletion": "the topic does not exist: the controller removes the mark"}


async def test_broker_whose_registration_is_malformed_is_not_live() -> None:
    """The example of the wiki page, with commas in place of colons, and a controller that has been elected once."""
    page = b'{"version":2,"host","localhost","port",9092}'
    session = MemoryZooKeeper().session()
    for path in ("/brokers", "/brokers/ids"):
        await session.create(path, b"")
    await session.create("/controller_epoch", b"1")
    await session.create("/brokers/ids/7", page)

    rows = {row.path: row async for row in _rows(session)}

    await session.close()
    assert rows["/controller_epoch"].meaning == "1 election of a controller"
    assert rows["/brokers/ids"].meaning == "live brokers: none"
    assert rows["/brokers/ids/7"].meaning == "the controller cannot read this znode"
    assert "invalid JSON" in (rows["/brokers/ids/7"].blocked_by or "")


async def test_malformed_features_are_a_row() -> None:
    rows = await shown({"/features": b'{"version": 1, "status": "on"}', "/brokers/topics": b""})

    assert list(rows) == ["the controller cannot read this znode"]


async def test_what_the_controller_cannot_read_is_a_row() -> None:
    """Tools leave such znodes; the rows of others are still shown."""
    rows = await shown(
        {
            "/brokers/ids/spare": b"",
            "/brokers/topics/orders": topic([7], [1, 7]),
            "/brokers/topics/torn": b'{"version": 1',
            "/admin/reassign_partitions": b"{}",
        }
    )

    assert rows["orders-0 is being reassigned: adds 7"] == "broker 7 is down"
    assert rows["the controller cannot read this znode"]
    assert len(rows) == 2  # both malformed znodes have the same meaning


@pytest.mark.parametrize("verb", [["show"], ["decode", "/controller"]])
@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("zookeeper://zk:2181/k", "without zookeeper://"),
        ("zk:2181/k,zk-2:2181/k", "with the chroot once, behind the last host"),
        (",zk:2181", "without an empty host"),
        ("user:secret@zk:2181", "without a user"),
        ("zk:0", "with a port from 1 to 65535 instead of '0'"),
    ],
)
def test_mistake_in_an_address_is_named(
    capsys: pytest.CaptureFixture[str], verb: list[str], written: str, instead: str
) -> None:
    assert run(["zookeeper", *verb, "--zookeeper", written]) == 2

    error = capsys.readouterr().err
    assert f"expected HOST:PORT,HOST:PORT/CHROOT, {instead}" in error
    assert "secret" not in error
