"""Tools for offsets of consumers in a real ZooKeeper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cluster.zookeeper import ConsumerOffset, make_path
from tests.cluster.node.nodes import new_root, session
from tests.tools.running import output, run

if TYPE_CHECKING:
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

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
    file.write_bytes(b"\xff\xfe")
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
