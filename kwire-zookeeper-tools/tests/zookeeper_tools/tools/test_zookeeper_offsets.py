"""Tools for offsets of consumers in a real ZooKeeper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cluster.zookeeper import ConsumerOffset, make_path
from tests.cluster.node.nodes import new_root, session
from tests.zookeeper_tools.tools.running import output, run

if TYPE_CHECKING:
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

OFFSETS = [
    "/consumers/app/offsets/orders/0:42",
    "/consumers/app/offsets/orders/10:7",
    "/consumers/audit/offsets/orders/0:1",
]


async def with_offsets(server: EmbeddedZooKeeper) -> str:
    hosts = await new_root(server)
    async with session(hosts) as store:
        for line in OFFSETS:
            path, _, offset = line.partition(":")
            await make_path(store, path)
            await store.set(path, offset.encode())
    return hosts


async def test_export_writes_lines(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    hosts = await with_offsets(server)
    assert await output("export-zk-offsets", "--zkconnect", hosts) == OFFSETS
    assert await output("export-zk-offsets", "--zookeeper", hosts, "--group", "audit") == OFFSETS[2:]
    assert await output("export-zk-offsets", "--zookeeper", hosts, "--group", "nosuch") == []
    file = tmp_path / "offsets.txt"
    assert await output("export-zk-offsets", "--zookeeper", hosts, "--output-file", file) == [
        f"3 offsets written to {file}"
    ]
    assert file.read_text().splitlines() == OFFSETS


async def test_import_writes_what_export_has_written(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    source, target = await with_offsets(server), await new_root(server)
    file = tmp_path / "offsets.txt"
    await output("export-zk-offsets", "--zookeeper", source, "--output-file", file)
    assert await output("import-zk-offsets", "--zookeeper", target, "--input-file", file) == [
        "3 offsets written to ZooKeeper"
    ]
    assert await output("export-zk-offsets", "--zookeeper", target) == OFFSETS


async def test_import_checks_the_whole_file_first(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    hosts = await new_root(server)
    file = tmp_path / "offsets.txt"
    file.write_text(f"{OFFSETS[0]}\n/brokers/topics/orders:1\n")
    result = await run("import-zk-offsets", "--zookeeper", hosts, "--input-file", file)
    assert result.exit_status == 1
    assert result.error == (
        "import-zk-offsets: line 2: expected /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET, found "
        "'/brokers/topics/orders:1'"
    )
    assert await output("export-zk-offsets", "--zookeeper", hosts) == []
    file.write_bytes(b"\xfa")
    assert "cannot read" in str((await run("import-zk-offsets", "--zookeeper", hosts, "--input-file", file)).error)


async def test_export_names_a_malformed_offset(server: EmbeddedZooKeeper) -> None:
    hosts = await with_offsets(server)
    async with session(hosts) as store:
        await store.set(ConsumerOffset.path("app", "orders", 0), b"many")
    result = await run("export-zk-offsets", "--zookeeper", hosts)
    assert result.exit_status == 1
    assert "/consumers/app/offsets/orders/0" in str(result.error)


async def test_unreachable_zookeeper_is_one_sentence() -> None:
    result = await run("export-zk-offsets", "--zookeeper", "127.0.0.1:1", "--time-limit", "0.5")
    assert result.error == "export-zk-offsets: it did not finish within 0.5 s and was ended"


NOTE = (
    "Note: This will only show information about consumers that use ZooKeeper (not those using the Java consumer API)."
)
LIVE = '{"version":1,"subscription":{"orders":1},"pattern":"static","timestamp":"1"}'
GROUPS = {
    "/consumers/app/offsets/orders/0": "42",
    "/consumers/app/offsets/audit/0": "7",
    "/consumers/app/owners/orders": "",
    "/consumers/live/ids/c1": LIVE,
    "/consumers/live/offsets/orders/0": "1",
    "/consumers/old/offsets/orders/0": "3",
}
"""Groups as consumers of Kafka 0.8 to 0.10 leave them. What the tool prints for them was compared with 0.10.2.2."""


async def with_groups(server: EmbeddedZooKeeper) -> tuple[str, str]:
    """Return the option for a ZooKeeper with groups, in which no broker is registered."""
    hosts = await new_root(server)
    async with session(hosts) as store:
        for path, data in GROUPS.items():
            await make_path(store, path)
            await store.set(path, data.encode())
    return "--zookeeper", hosts


async def exported(zookeeper: tuple[str, str]) -> list[str]:
    return await output("export-zk-offsets", *zookeeper)


async def test_groups_in_zookeeper_are_listed_and_deleted_without_a_broker(server: EmbeddedZooKeeper) -> None:
    zookeeper = await with_groups(server)
    assert await output("consumer-groups", *zookeeper, "--list") == [NOTE, "app", "live", "old"]

    some = await run("consumer-groups", *zookeeper, "--delete", "--group", "nosuch", "live", "old")
    assert some.output.splitlines() == [
        NOTE,
        "Error: Delete for group 'nosuch' failed because group does not exist.",
        "Error: Delete for group 'live' failed because its consumers are still active.",
        "Deleted all consumer group information for group 'old' in zookeeper.",
    ]
    assert (some.exit_status, some.error) == (1, "consumer-groups: it has failed, and its output says how")
    assert await output("consumer-groups", *zookeeper, "--list") == [NOTE, "app", "live"]


async def test_offsets_of_topics_are_deleted_and_others_stay(server: EmbeddedZooKeeper) -> None:
    zookeeper = await with_groups(server)
    assert await output("consumer-groups", *zookeeper, "--delete", "--group", "app", "--topic", "orders") == [
        NOTE,
        "Deleted consumer group information for group 'app' topic 'orders' in zookeeper.",
    ]
    assert await exported(zookeeper) == [
        "/consumers/app/offsets/audit/0:7",
        "/consumers/live/offsets/orders/0:1",
        "/consumers/old/offsets/orders/0:3",
    ]
    assert await output("consumer-groups", *zookeeper, "--delete", "--topic", "orders") == [
        NOTE,
        "Deleted consumer group information for all inactive consumer groups for topic 'orders' in zookeeper.",
    ]
    assert await exported(zookeeper) == ["/consumers/app/offsets/audit/0:7", "/consumers/live/offsets/orders/0:1"]
    await output("consumer-groups", *zookeeper, "--delete", "--group", "app", "--topic", "audit")
    assert await output("consumer-groups", *zookeeper, "--list") == [NOTE, "live"], (
        "the last topic takes the group along"
    )


async def test_options_of_groups_of_brokers_are_refused_with_zookeeper(server: EmbeddedZooKeeper) -> None:
    zookeeper = await with_groups(server)
    before = await exported(zookeeper)
    for words in (
        ("--delete", "--all-groups"),
        ("--list", "--bootstrap-server", "127.0.0.1:1"),
        ("--describe", "--group", "app", "--members"),
        ("--delete",),
        ("--describe",),
        ("--list", "--topic", "orders"),
    ):
        assert (await run("consumer-groups", *zookeeper, *words)).exit_status == 2, words
    assert await exported(zookeeper) == before
