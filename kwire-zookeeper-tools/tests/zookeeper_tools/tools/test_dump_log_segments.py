"""The tool `dump-log-segments` on files that kwire has encoded; tests/kafka reads those of brokers."""

from __future__ import annotations

import json
import lzma
import os
import struct
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire import records
from kwire.messages.consumer_offsets import GroupMetadataKey, GroupMetadataValue
from kwire.messages.consumer_offsets.group_metadata import MemberMetadata
from kwire.messages.kafka import ConsumerProtocolSubscription
from kwire.messages.transaction_state import TransactionLogKey, TransactionLogValue
from kwire.records import Header, Record
from kwire_zookeeper_tools.records.log_segment import DamagedLogSegment, batches_of, index_entries
from tests.for_rows import for_rows
from tests.paths import DATA
from tests.zookeeper_tools.tools.running import output, run

if TYPE_CHECKING:
    from kwire.declare import Message

TIME = 1_700_000_000_000
NAME = "00000000000000000005.log"


def batch(offset: int, count: int, **fields: Any) -> bytes:
    made = [
        Record(
            offset=offset + at,
            timestamp=TIME + at,
            key=b"k%d" % at,
            value=b"v%d" % at,
            headers=(Header(key="h", value=b""),),
        )
        for at in range(count)
    ]
    return records.encode(made, base_offset=offset, **fields)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_bytes(batch(5, 2, producer_id=9, producer_epoch=1, base_sequence=0) + batch(7, 1, compression="zstd"))
    return path


async def test_batches_and_records_are_printed_as_kafka_prints_them(segment: Path) -> None:
    lines = await output("dump-log-segments", "--files", segment, "--print-data-log")
    assert lines[:2] == [f"Dumping {segment}", "Log starting offset: 5"]
    assert lines[2].startswith(
        "baseOffset: 5 lastOffset: 6 count: 2 baseSequence: 0 lastSequence: 1 producerId: 9 producerEpoch: 1 "
        "partitionLeaderEpoch: -1 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
        f"position: 0 CreateTime: {TIME + 1} size: "
    )
    assert lines[2].endswith("isvalid: true")
    assert (
        lines[3]
        == f"| offset: 5 CreateTime: {TIME} keySize: 2 valueSize: 2 sequence: 0 headerKeys: [h] key: k0 payload: v0"
    )
    assert "compresscodec: zstd" in lines[5]
    assert len(lines) == 7


async def test_keys_and_values_need_the_option(segment: Path) -> None:
    assert len(await output("dump-log-segments", "--files", segment)) == 4
    assert "payload" not in "".join(await output("dump-log-segments", "--files", segment, "--deep-iteration"))
    decoded = await output(
        "dump-log-segments",
        "--files",
        segment,
        "--print-data-log",
        "--value-decoder-class",
        "kafka.serializer.DefaultDecoder",
    )
    assert decoded[3].endswith(f"payload: {b'v0'.hex()}")


async def test_records_are_printed_without_metadata_and_up_to_a_size(segment: Path) -> None:
    dump = ("dump-log-segments", "--files", segment)
    lines = await output(*dump, "--print-data-log", "--skip-record-metadata")
    assert [line for line in lines if line.startswith("|")] == [
        "| key: k0 payload: v0",
        "| key: k1 payload: v1",
        "| key: k0 payload: v0",
    ]
    first = len(batch(5, 2, producer_id=9, producer_epoch=1, base_sequence=0))
    assert len(await output(*dump, "--max-bytes", str(first))) == 3
    assert len(await output(*dump, "--max-bytes", str(first - 1))) == 2
    needless = await run(*dump, "--skip-record-metadata")
    assert "needs --print-data-log" in str(needless.error)


async def test_indexes_are_checked_without_the_log(tmp_path: Path) -> None:
    index = tmp_path / "00000000000000000005.index"
    index.write_bytes(struct.pack(">iiii", 1, 100, 3, 200))
    check = ("dump-log-segments", "--files", index, "--index-sanity-check")
    assert await output(*check) == [f"Dumping {index}", f"{index} passed sanity check."]
    index.write_bytes(struct.pack(">iiii", 3, 100, 1, 200))
    assert "the entry 6 -> 200 follows 8 -> 100" in str((await run(*check)).error)


async def test_wrong_checksum_is_reported_and_the_rest_is_printed(segment: Path) -> None:
    data = bytearray(segment.read_bytes())
    data[70] ^= 1
    segment.write_bytes(data)
    result = await run("dump-log-segments", "--files", segment, "--print-data-log")
    assert (result.exit_status, result.error) == (
        1,
        f"dump-log-segments: {segment}: the checksum is wrong in 1 of 2 batches",
    )
    assert [line.rpartition(" ")[2] for line in result.output.splitlines() if "isvalid" in line] == ["false", "true"]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (
            lambda data: data[:-3],
            "position 89: the batch is cut short: it has 8",
        ),
        (lambda data: data + b"\x01\x02", "the batch is cut short: 2 bytes are left; valid batches before it: 2"),
        (lambda _: bytes(range(1, 251)), "position 0: the batch is cut short"),
        (lambda _: b"\xff" * 400, "position 0: expected a batch, found the length -1; valid batches before it: 0"),
    ],
    ids=["cut", "a few bytes more", "rubbish", "negative length"],
)
async def test_damaged_segment_is_one_sentence(segment: Path, damage: object, sentence: str) -> None:
    assert callable(damage)
    segment.write_bytes(damage(segment.read_bytes()))
    result = await run("dump-log-segments", "--files", segment)
    assert result.exit_status == 1
    assert result.error is not None
    assert sentence in result.error, result.error
    assert "\n" not in result.error


async def test_zeros_of_a_preallocated_segment_are_ignored(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes() + bytes(4096))
    assert len(await output("dump-log-segments", "--files", segment)) == 4
    segment.write_bytes(b"")
    assert len(await output("dump-log-segments", "--files", segment)) == 2


async def test_batches_of_any_ratio_are_printed_up_to_the_limit_for_a_batch(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(records.encode([(5, TIME, None, bytes(6_000_000))], compression="zstd"))
    assert len(await output("dump-log-segments", "--files", path, "--deep-iteration")) == 4
    result = await run("dump-log-segments", "--files", path, "--deep-iteration", "--max-message-size", "5000000")
    assert "more than 5000000 bytes" in str(result.error)

    path.write_bytes(batch(5, 100))
    result = await run("dump-log-segments", "--files", path, "--max-message-size", "500")
    assert f"position 0: the batch has {path.stat().st_size} bytes, more than 500" in str(result.error)


@for_rows("kept", [0, 7, 61, 100])
def test_segment_that_is_truncated_while_it_is_read_is_printed_up_to_its_new_end(kept: int) -> None:
    with NamedTemporaryFile(suffix=".log") as file:
        path = Path(file.name)
        data = batch(5, 2000)
        path.write_bytes(data * 20)
        batches = batches_of(path, len(data))
        assert next(batches).position == 0
        os.truncate(path, len(data) + kept)
        with pytest.raises(DamagedLogSegment, match="cut short"):
            list(batches)

        path.write_bytes(struct.pack(">ii", 1, 1) * 1_000_000)
        entries = index_entries(path, 0, is_time_index=False)
        assert next(entries) == (1, 1)
        os.truncate(path, 0)
        assert len(list(entries)) < 1_000_000


async def test_indexes_are_printed_and_compared_with_the_log(segment: Path) -> None:
    position = len(batch(5, 2, producer_id=9, producer_epoch=1, base_sequence=0))
    index = segment.with_suffix(".index")
    index.write_bytes(struct.pack(">ii", 2, position) + bytes(16))
    assert (await output("dump-log-segments", "--files", index))[1:] == [f"offset: 7 position: {position}"]
    assert await output("dump-log-segments", "--files", index, "--verify-index-only") == [f"Dumping {index}"]

    times = segment.with_suffix(".timeindex")
    times.write_bytes(struct.pack(">qi", TIME, 2))
    assert (await output("dump-log-segments", "--files", times))[1:] == [f"timestamp: {TIME} offset: 7"]

    index.write_bytes(struct.pack(">ii", 1, position + 1))
    wrong = await run("dump-log-segments", "--files", index)
    assert f"1 of 1 entries do not fit {NAME}: offset 6 at position {position + 1}" in str(wrong.error)
    index.write_bytes(b"123")
    odd = await run("dump-log-segments", "--files", index)
    assert "an index has entries of 8 bytes, and this file has 3 bytes" in str(odd.error)


async def test_names_of_files_are_checked(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("text")
    (tmp_path / "notes.log").write_text("text")
    for name, reason in (
        ("notes.txt", "expected a file that ends with .log, .index, .timeindex, or .checkpoint"),
        ("notes.log", "expected a name such as 00000000000000000000.log"),
        ("00.log", "No such file"),
    ):
        result = await run("dump-log-segments", "--files", tmp_path / name)
        assert result.exit_status == 1
        assert reason in str(result.error)


async def test_several_files_are_dumped_although_one_is_damaged(segment: Path, tmp_path: Path) -> None:
    (tmp_path / "00000000000000000009.log").write_bytes(b"\x01" * 9)
    result = await run("dump-log-segments", "--files", f"{tmp_path}/00000000000000000009.log,{segment}")
    assert result.exit_status == 1
    assert result.output.count("isvalid: true") == 2


async def test_records_of_internal_topics_are_printed_as_kafka_prints_them(tmp_path: Path) -> None:
    key = bytes.fromhex("0001 0001 67 0001 74 00000005")
    value = bytes.fromhex("0003 000000000000002a 00000007 0000 0000018bcfe56800")
    contents = ((key, value), (key, None), (b"\0\x63", b""), (key[:-1], value))
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(
        records.encode([Record(offset=at, timestamp=TIME, key=k, value=v) for at, (k, v) in enumerate(contents)])
    )

    lines = await output("dump-log-segments", "--files", path, "--offsets-decoder")
    shown_key = 'key: {"type":"1","data":{"group":"g","topic":"t","partition":5}}'
    shown_value = '{"version":"3","data":{"offset":42,"leaderEpoch":7,"metadata":"","commitTimestamp":1700000000000}}'
    assert [line.partition("headerKeys: [] ")[2] for line in lines[3:]] == [
        f"{shown_key} payload: {shown_value}",
        f"{shown_key} payload: <DELETE>",
        "payload: Unknown record type 99 at offset 2, skipping.",
        "payload: Error at offset 3, skipping. key.partition: truncated at byte 8: 4 bytes wanted, 3 left",
    ]


async def test_snapshot_of_metadata_is_printed_without_secrets(tmp_path: Path) -> None:
    value = bytes.fromhex("01 0b 00 06 616c696365 01 03 7a7a 03 7979 03 7878 00001000 00")
    path = tmp_path / "00000000000000000042-0000000007.checkpoint"
    path.write_bytes(records.encode([Record(offset=42, timestamp=TIME, key=None, value=value)], base_offset=42))

    lines = await output("dump-log-segments", "--files", path, "--cluster-metadata-decoder")
    assert lines[1] == "Snapshot end offset: 42, epoch: 7"
    assert lines[3].endswith(
        'payload: {"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"alice","mechanism":1,'
        '"salt":"[hidden]","storedKey":"[hidden]","serverKey":"[hidden]","iterations":4096}}'
    )


async def test_data_of_members_is_decoded_unless_it_is_invalid(tmp_path: Path) -> None:
    subscription = kwire.encode_versioned(ConsumerProtocolSubscription(topics=("orders",)), version=0)
    members = tuple(
        MemberMetadata(
            member_id="m", client_id="c", client_host="h", session_timeout=1, subscription=data, assignment=b"\0"
        )
        for data in (subscription, subscription[:-1], b"")
    )
    for protocol, expected in (("consumer", [0, 1, 1]), ("connect", [1, 1, 1])):
        value = GroupMetadataValue(protocol_type=protocol, generation=1, protocol="range", leader="m", members=members)
        [document] = await payloads(tmp_path, "--offsets-decoder", 2, GroupMetadataKey(group="g"), value)
        assert [type(member["subscription"]) for member in document["members"]] == [(dict, str)[at] for at in expected]
        assert {member["assignment"] for member in document["members"]} == {"AA=="}


@pytest.mark.parametrize(("status", "name"), [(0, "Empty"), (7, "PrepareEpochFence"), (8, "8"), (-1, "-1")])
async def test_state_of_a_transaction_has_a_name(tmp_path: Path, status: int, name: str) -> None:
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=0,
        transaction_timeout_ms=1,
        transaction_status=status,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=TIME,
        transaction_start_timestamp_ms=TIME,
    )
    key = TransactionLogKey(transactional_id="t")
    [document] = await payloads(tmp_path, "--transaction-log-decoder", 0, key, value)
    assert document["transactionStatus"] == name


async def payloads(folder: Path, option: str, type: int, key: Message, value: Message) -> list[Any]:
    """Return the data of the value in the only record of a log, as the tool prints it."""
    topic = {"--offsets-decoder": "__consumer_offsets", "--transaction-log-decoder": "__transaction_state"}[option]
    stored = records.encode_internal_record(topic, records.InternalRecord(type, key, value, 0))
    path = folder / NAME
    path.write_bytes(records.encode([Record(offset=5, timestamp=TIME, key=stored[0], value=stored[1])], base_offset=5))
    lines = await output("dump-log-segments", "--files", path, option)
    return [json.loads(line.partition(" payload: ")[2])["data"] for line in lines if " payload: " in line]


async def test_two_decoders_of_internal_topics_are_refused(segment: Path) -> None:
    done = await run("dump-log-segments", "--files", segment, "--offsets-decoder", "--transaction-log-decoder")
    assert "at most one decoder" in str(done.error)


def dumped_by_kafka() -> list[dict[str, Any]]:
    """Return files of a broker of Kafka 4.4.0, and the lines of its own DumpLogSegments after the name of the file."""
    with lzma.open(DATA / "dumped-segments-4.4.0.jsonl.xz", "rt") as file:
        return [json.loads(line) for line in file]


async def test_files_of_a_broker_are_printed_as_kafka_prints_them(tmp_path: Path) -> None:
    dumps = dumped_by_kafka()
    assert {dump["topic"] for dump in dumps} == {"__cluster_metadata", "__consumer_offsets", "__share_group_state"}
    for dump in dumps:
        path = tmp_path / dump["file"]
        path.write_bytes(bytes.fromhex(dump["hex"]))
        lines = await output("dump-log-segments", "--files", path, dump["option"])
        assert lines[1:] == dump["lines"], dump["topic"]


async def test_bootstrap_snapshot_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bootstrap.checkpoint"
    path.write_bytes(
        bytes.fromhex(next(dump["hex"] for dump in dumped_by_kafka() if dump["file"].endswith("checkpoint")))
    )
    lines = await output("dump-log-segments", "--files", path, "--cluster-metadata-decoder")
    assert lines[1] == "KRaft bootstrap snapshot"
    assert 'SnapshotHeader {"version":0,"lastContainedLogTimestamp":' in lines[3]
