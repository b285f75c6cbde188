"""Copies of records between two brokers in memory: what one partition contains must not stop the others."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kwire import records
from kwire.client.admin import AdminClient, TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.records import Header, Record
from kwire_admin.operations.declaration import ToolFailed
from kwire_zookeeper_tools.records.record_copy import SHARE_BYTES, RecordCopy
from kwire_zookeeper_tools.records.record_groups import BATCH_BYTES, size_of
from tests.client.admin.scripted_broker import scripted_broker
from tests.eventually import eventually
from tests.zookeeper_tools.records.record_log import RecordLog
from tests.zookeeper_tools.tools.running import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from kwire.records.options import CompressionName

TIME = 1_700_000_000_000
ZEROS_3_MB = records.encode([(0, TIME, None, bytes(3_000_000))], compression="zstd")
assert len(ZEROS_3_MB) < 200


def batch(values: Sequence[bytes], compression: CompressionName = "none") -> bytes:
    return records.encode([(n, TIME, b"k", value) for n, value in enumerate(values)], compression=compression)


def broken(data: bytes) -> bytes:
    """Return a batch whose checksum is wrong, as after damage on a disk."""
    return data[:-1] + bytes([data[-1] ^ 1])


@asynccontextmanager
async def served(log: RecordLog, timeout: float = 30.0) -> AsyncIterator[AdminClient]:
    async with scripted_broker("kafka", log.respond) as broker:
        log.port = broker.port
        async with await AdminClient.open(f"127.0.0.1:{broker.port}", timeout=timeout) as admin:
            yield admin


@asynccontextmanager
async def copying(source: RecordLog, target: RecordLog, **options: Any) -> AsyncIterator[tuple[RecordCopy, list[str]]]:
    """Return a copy of all partitions, and the lines that it reports."""
    partitions = {TopicPartition(*name): 0 for name in source.logs}
    lines: list[str] = []
    async with served(source) as source_client, served(target) as target_client:
        routes = {partition: partition for partition in partitions}
        yield RecordCopy(source_client, target_client, routes, partitions, report=lines.append, **options), lines


def ends(log: RecordLog) -> dict[TopicPartition, int]:
    return {TopicPartition(*name): log.end(*name) for name in log.logs}


@pytest.mark.parametrize("seed", range(4))
async def test_any_batches_are_copied_whatever_their_ratio_and_the_limit_of_the_target(seed: int) -> None:
    random = Random(seed)
    source, target = RecordLog(orders=2), RecordLog(orders=2)
    target.max_message_bytes = random.choice([400, 3_000, 100_000, 1_048_588])
    largest = target.max_message_bytes - 300

    def value() -> bytes | None:
        size = random.choice([0, 1, 30, random.randrange(5_000), 10_000])
        size = min(size, largest)
        return random.choice([bytes(size), random.randbytes(size), None])

    for _ in range(40):
        made = [
            Record(
                offset=offset,
                timestamp=TIME + random.randrange(1 << 30),
                key=random.choice([None, b"k"]),
                value=value(),
                headers=(Header(key="h", value=None),) * random.randrange(3),
            )
            for offset in sorted(random.sample(range(300), random.choice([1, 2, 50, 200])))
        ]
        compression: Any = random.choice(["none", "gzip", "snappy", "lz4", "zstd"])
        # Compaction leaves holes, and offsets after the last record.
        data = records.encode(made, base_offset=0, last_offset_delta=300, compression=compression)
        source.append("orders", random.randrange(2), data)

    async with copying(source, target) as (copy, lines):
        await copy.run(ends(source))

    assert lines == []
    assert copy.acknowledged == ends(source)
    for index in range(2):
        assert target.values("orders", index) == source.values("orders", index)
        for copied in records.batches(b"".join(target.logs["orders", index]), max_ratio=None):
            assert len(copied.records) == 1 or size_of(copied.records) <= BATCH_BYTES
    assert copy.copied == sum(len(source.values("orders", index)) for index in range(2))


async def test_batches_of_a_source_with_the_default_limits_stay_as_they_are() -> None:
    source, target = RecordLog(orders=1), RecordLog(orders=1)
    for _ in range(20):
        source.append("orders", 0, batch([bytes(10_000)] * 99, "zstd"))

    async with copying(source, target) as (copy, _):
        await copy.run(ends(source))

    assert [len(copied.records) for copied in records.batches(b"".join(target.logs["orders", 0]))] == [99] * 20


async def test_small_batches_are_merged() -> None:
    source, target = RecordLog(orders=1), RecordLog(orders=1)
    for _ in range(100):
        source.append("orders", 0, batch([b"x" * 1000]))

    async with copying(source, target) as (copy, _):
        await copy.run(ends(source))

    assert len(target.logs["orders", 0]) == 1
    assert len(target.values("orders", 0)) == 100


async def test_partition_of_equal_bytes_takes_only_its_share_of_a_round() -> None:
    source, target = RecordLog(tenant=1, other=1), RecordLog(tenant=1, other=1)
    for _ in range(60):
        source.append("tenant", 0, ZEROS_3_MB)
        source.append("other", 0, batch([b"x" * 200_000]))

    async with copying(source, target) as (copy, _):
        await copy.run(ends(source))

    assert source.fetches >= 60 * 3_000_000 // (SHARE_BYTES + 3_000_000)
    assert len(target.values("tenant", 0)) == len(target.values("other", 0)) == 60


async def test_batch_that_cannot_be_decoded_ends_its_partition_after_the_records_before_it() -> None:
    source, target = RecordLog(tenant=2, other=1), RecordLog(tenant=2, other=1)
    source.append("tenant", 0, batch([b"first"]))
    source.append("tenant", 0, broken(batch([b"second"])))
    source.append("tenant", 0, batch([b"third"]))
    source.append("tenant", 1, batch([b"another"], "gzip"))
    for _ in range(3):
        source.append("other", 0, batch([b"x" * 900_000]))

    async with copying(source, target) as (copy, lines):
        with pytest.raises(ToolFailed) as failed:
            await copy.run(ends(source))

    reason = "tenant-0 at offset 1: the batch cannot be decoded: crc_mismatch"
    assert reason in lines[0]
    assert len(lines) == 1
    assert str(failed.value).startswith(f"1 of 3 partitions failed: {reason}")
    assert target.values("tenant", 0) == [b"first"]
    assert target.values("tenant", 1) == [b"another"]
    assert len(target.values("other", 0)) == 3
    assert copy.acknowledged == ends(source) | {TopicPartition("tenant", 0): 1}


@pytest.mark.parametrize("is_skipped", [False, True])
async def test_refused_partition_ends_alone_with_its_position_before_the_refused_batch(is_skipped: bool) -> None:
    source, target = RecordLog(tenant=1, other=1), RecordLog(tenant=1, other=1)
    for size in (10, 700_000, 900_000, 10):
        source.append("tenant", 0, batch([b"x" * size]))
        source.append("other", 0, batch([b"x" * size]))
    target.max_message_bytes = 800_000
    source.logs["other", 0].pop(2)  # a hole, as of compaction

    async with copying(source, target, skip_refused=is_skipped) as (copy, _):
        if is_skipped:
            await copy.run(ends(source))
            assert copy.refused == 1
            assert len(target.values("tenant", 0)) == 3
            assert copy.acknowledged == ends(source)
        else:
            with pytest.raises(ToolFailed, match=r"1 of 2 partitions failed: tenant-0: .* MESSAGE_TOO_LARGE"):
                await copy.run(ends(source))
            assert len(target.values("tenant", 0)) == 2
            assert copy.acknowledged[TopicPartition("tenant", 0)] == 2

    assert len(target.values("other", 0)) == 3


async def test_partition_without_a_leader_waits_while_an_endless_copy_goes_on() -> None:
    source, target = RecordLog(tenant=1, other=1), RecordLog(tenant=1, other=1)
    source.fetch_errors["tenant", 0] = ErrorCode.KAFKA_STORAGE_ERROR
    source.append("tenant", 0, batch([b"late"]))
    now = 0.0

    async with copying(source, target, clock=lambda: now) as (copy, lines):
        endless = asyncio.create_task(copy.run())
        try:
            await eventually(lambda: bool(lines))
            source.append("other", 0, batch([b"x"]))
            await eventually(lambda: target.values("other", 0) == [b"x"])
            assert "read again every 30 s" in lines[0]
            source.fetch_errors.clear()
            now = 31.0
            await eventually(lambda: target.values("tenant", 0) == [b"late"])
            assert len(lines) == 1
        finally:
            endless.cancel()
            await asyncio.gather(endless, return_exceptions=True)


@pytest.mark.parametrize("is_listed", [True, False])
async def test_partition_whose_leader_is_dead_ends_alone(is_listed: bool) -> None:
    source, target = RecordLog(tenant=1, other=1), RecordLog(tenant=1, other=1)
    for topic in ("tenant", "other"):
        source.append(topic, 0, batch([b"x"]))
    source.leaders["tenant", 0] = 2
    source.lists_dead_broker = is_listed

    async with served(source, timeout=0.5) as source_client, served(target) as target_client:
        positions = {TopicPartition(*name): 0 for name in source.logs}
        lines: list[str] = []
        routes = {partition: partition for partition in positions}
        copy = RecordCopy(source_client, target_client, routes, positions, report=lines.append)
        with pytest.raises(ToolFailed, match="1 of 2 partitions failed: tenant-0"):
            await copy.run(ends(source))

    assert target.values("other", 0) == [b"x"]
    assert copy.acknowledged == {TopicPartition("tenant", 0): 0, TopicPartition("other", 0): 1}
    assert len(lines) == 1


async def test_mirror_copies_other_topics_and_commits_what_was_copied() -> None:
    source, target = RecordLog(tenant=1, other=1), RecordLog(tenant=1, other=1)
    source.append("tenant", 0, batch([b"first"]))
    for _ in range(3):
        source.append("tenant", 0, ZEROS_3_MB)
    source.append("tenant", 0, broken(batch([b"second"])))
    source.append("other", 0, batch([b"other"]))

    async with scripted_broker("kafka", source.respond) as east, scripted_broker("kafka", target.respond) as west:
        source.port, target.port = east.port, west.port
        addresses = ("--source", f"127.0.0.1:{east.port}", "--target", f"127.0.0.1:{west.port}")
        result = await run("mirror-maker", *addresses, "--group", "mirror", "--until-caught-up")

    assert result.exit_status == 1
    assert "tenant-0 at offset 4: the batch cannot be decoded: crc_mismatch" in str(result.error)
    assert len(target.values("tenant", 0)) == 4
    assert target.values("other", 0) == [b"other"]
    assert source.committed == {("tenant", 0): 4, ("other", 0): 1}
    assert result.output.splitlines()[-1] == "5 records copied"


async def test_simple_consumer_shell_prints_what_precedes_a_damaged_batch_or_skips_it() -> None:
    log = RecordLog(orders=1)
    log.append("orders", 0, batch([b"first"]))
    log.append("orders", 0, batch([bytes(600_000)] * 4, "zstd"))
    log.append("orders", 0, broken(batch([b"x"] * 50)))
    log.append("orders", 0, batch([b"last"]))

    async with scripted_broker("kafka", log.respond) as broker:
        log.port = broker.port
        words = ("--broker-list", f"127.0.0.1:{broker.port}", "--topic", "orders", "--no-wait-at-logend")
        whole = await run("simple-consumer-shell", *words)
        fetches = log.fetches
        skipping = await run("simple-consumer-shell", *words, "--skip-message-on-error")

    assert whole.exit_status == 1
    assert len(whole.output.splitlines()) == 5
    assert "records printed before: 5" in str(whole.error)
    assert skipping.exit_status == 0
    assert skipping.output.splitlines()[-1] == "last"
    assert log.fetches - fetches == 2, "the batch is skipped at once, not offset by offset"
