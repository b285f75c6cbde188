"""The tool `dump-log-segments`."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from kwire._util.light_dataclasses import dataclass
from kwire.errors import KwireError, RecordsDecodeError
from kwire.jsonform import to_json
from kwire.messages.kafka.end_txn_marker import EndTxnMarker
from kwire.records import (
    DEFAULT_MAX_SIZE,
    ControlRecordType,
    Record,
    control_record,
    decode,
    increment_sequence,
)
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Option
from kwire_zookeeper_tools.records.log_segment import (
    DamagedLogSegment,
    IndexEntry,
    SegmentBatch,
    batches_of,
    index_entries,
)
from kwire_zookeeper_tools.records.record_text import (
    RecordContents,
    compact_json,
    decoder,
    plain_contents,
    topic_contents,
)
from kwire_zookeeper_tools.tool_run import ToolRun


class SegmentFile(StrEnum):
    """The files of a segment, by suffix."""

    LOG = ".log"
    INDEX = ".index"
    TIME_INDEX = ".timeindex"
    SNAPSHOT = ".checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """Options of the tool."""

    files: Annotated[
        list[Path],
        Option("Files that end with .log, .index, .timeindex, or .checkpoint.", "FILE"),
    ]
    print_data_log: Annotated[bool, Option("Print keys and values of records.")] = False
    deep_iteration: Annotated[bool, Option("Print a line for each record, without its key and value.")] = False
    verify_index_only: Annotated[bool, Option("Compare indexes with the log, and print only differences.")] = False
    index_sanity_check: Annotated[bool, Option("Only check that indexes can be read and are in order.")] = False
    max_bytes: Annotated[int | None, Option("The most bytes of a .log file to read.", "BYTES")] = None
    skip_record_metadata: Annotated[
        bool, Option("With keys and values, leave out offsets, times, and sizes of records.")
    ] = False
    max_message_size: Annotated[
        int, Option("The most bytes of a batch, as stored, and in memory with its records.", "BYTES")
    ] = DEFAULT_MAX_SIZE
    key_decoder_class: Annotated[str, Option("How keys are shown: String, Long, Integer, or hex.", "NAME")] = "String"
    value_decoder_class: Annotated[str, Option("How values are shown.", "NAME")] = "String"
    offsets_decoder: Annotated[bool, Option("Decode records of __consumer_offsets.")] = False
    transaction_log_decoder: Annotated[bool, Option("Decode records of __transaction_state.")] = False
    share_group_state_decoder: Annotated[bool, Option("Decode records of __share_group_state.")] = False
    cluster_metadata_decoder: Annotated[bool, Option("Decode records of __cluster_metadata and of snapshots.")] = False
    remote_log_metadata_decoder: Annotated[bool, Option("Decode records of __remote_log_metadata.")] = False


@operation(
    runs_on=ANYWHERE,
    needs={Need.FILES},
    replaces=("kafka.tools.DumpLogSegments",),
    examples=(
        "--files 00000000000000000000.log --print-data-log",
        "--files __consumer_offsets-3/00000000000000000000.log --offsets-decoder",
        "--files 00000000000000000000.index",
    ),
)
async def dump_log_segments(run: ToolRun, options: DumpOptions) -> None:
    """Print the batches and records in files of a broker's log, and check their checksums.

    A file that is damaged is printed up to the damage, and the tool fails after the last file.
    """
    chosen = {
        "__consumer_offsets": options.offsets_decoder,
        "__transaction_state": options.transaction_log_decoder,
        "__share_group_state": options.share_group_state_decoder,
        "__cluster_metadata": options.cluster_metadata_decoder,
        "__remote_log_metadata": options.remote_log_metadata_decoder,
    }
    topics = [topic for topic, is_chosen in chosen.items() if is_chosen]
    if len(topics) > 1:
        raise ToolFailed("expected at most one decoder of an internal topic")
    contents: RecordContents | None = None
    if topics:
        contents = topic_contents(topics[0])
    elif options.print_data_log:
        contents = plain_contents(decoder(options.key_decoder_class), decoder(options.value_decoder_class))
    if options.skip_record_metadata and contents is None:
        raise ToolFailed("--skip-record-metadata needs --print-data-log, or a decoder of an internal topic")
    problems: list[str] = []
    for name in (part for file in options.files for part in str(file).split(",")):
        path = run.file(Path(name))
        run.print(f"Dumping {name}")
        try:
            if path.suffix in {SegmentFile.LOG, SegmentFile.SNAPSHOT}:
                _dump_log(run, path, options, contents)
            else:
                _dump_index(run, path, name, options)
        except ToolFailed as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise ToolFailed("; ".join(problems))


def _dump_log(run: ToolRun, path: Path, options: DumpOptions, contents: RecordContents | None) -> None:
    if path.name == "bootstrap.checkpoint":
        run.print("KRaft bootstrap snapshot")
    elif path.suffix == SegmentFile.SNAPSHOT:
        run.print(f"Snapshot end offset: {_base_offset(path)}, epoch: {path.stem.partition('-')[2].lstrip('0') or 0}")
    else:
        run.print(f"Log starting offset: {_base_offset(path)}")
    invalid = total = 0
    for count, batch in enumerate(batches_of(path, options.max_message_size)):
        if options.max_bytes is not None and batch.position + batch.header.size > options.max_bytes:
            break
        run.print(_batch_line(batch))
        invalid += not batch.is_valid
        total += 1
        if (contents is not None or options.deep_iteration) and batch.is_valid:
            try:
                # Of any ratio: brokers accept equal bytes that compress ten thousandfold.
                decoded = decode(batch.data, max_size=options.max_message_size, max_ratio=None)
            except RecordsDecodeError as error:
                raise DamagedLogSegment(batch.position, count, str(error)) from None
            for record in decoded.records():
                run.print(_record_line(record, batch, contents, without_metadata=options.skip_record_metadata))
    if invalid:
        raise ToolFailed(f"the checksum is wrong in {invalid} of {total} batches")


def _batch_line(batch: SegmentBatch) -> str:
    header = batch.header
    time = "LogAppendTime" if header.timestamp_type == "log_append_time" else "CreateTime"
    end = (
        f"position: {batch.position} {time}: {header.max_timestamp} size: {header.size} magic: {header.magic} "
        f"compresscodec: {header.compression.name.lower()} crc: {header.crc} isvalid: {_text(batch.is_valid)}"
    )
    if header.magic < 2:
        return f"offset: {header.base_offset} {end}"
    horizon = header.delete_horizon_ms
    deleted = "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]"
    base = header.base_sequence
    last_sequence = increment_sequence(base, header.last_offset_delta) if base >= 0 else -1
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.count} "
        f"baseSequence: {header.base_sequence} lastSequence: {last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_text(header.is_transactional)} isControl: {_text(header.is_control)} "
        f"deleteHorizonMs: {deleted} {end}"
    )


def _record_line(
    record: Record, batch: SegmentBatch, contents: RecordContents | None, *, without_metadata: bool
) -> str:
    header = batch.header
    if without_metadata and not header.is_control:
        return f"|{_contents(record, contents)}"
    time = "LogAppendTime" if header.timestamp_type == "log_append_time" else "CreateTime"
    line = f"| offset: {record.offset} {time}: {record.timestamp} keySize: {_size(record.key)} valueSize: "
    line += str(_size(record.value))
    if header.magic >= 2:
        sequence = header.base_sequence + record.offset - header.base_offset if header.base_sequence >= 0 else -1
        line += f" sequence: {sequence} headerKeys: [{','.join(header.key for header in record.headers)}]"
    if header.is_control:
        return f"{line} {_control_text(record)}"
    return f"{line}{_contents(record, contents)}"


def _contents(record: Record, contents: RecordContents | None) -> str:
    key, value = (None, None) if contents is None else contents(record)
    return (f" key: {key}" if key is not None else "") + (f" payload: {value}" if value is not None else "")


def _control_text(record: Record) -> str:
    try:
        control = control_record(record)
    except (KwireError, ValueError) as error:
        raise ToolFailed(f"the control record at offset {record.offset} cannot be decoded: {error}") from None
    if isinstance(control.value, EndTxnMarker):
        return f"endTxnMarker: {control.type.name} coordinatorEpoch: {control.value.coordinator_epoch}"
    if control.value is None:
        return f"controlType: {control.type.name}({control.type.value})"
    content = compact_json(to_json(control.value, version=control.version))
    return f"{_CONTROL_NAMES[control.type]} {content}"


_CONTROL_NAMES = {
    ControlRecordType.LEADER_CHANGE: "LeaderChange:",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlRecordType.KRAFT_VERSION: "KRaftVersion",
    ControlRecordType.KRAFT_VOTERS: "KRaftVoters",
}


def _dump_index(run: ToolRun, path: Path, name: str, options: DumpOptions) -> None:
    """Print or check an index, and raise ToolFailed for an entry out of order, or not in the log."""
    if path.suffix not in {SegmentFile.INDEX, SegmentFile.TIME_INDEX}:
        raise ToolFailed("expected a file that ends with .log, .index, .timeindex, or .checkpoint")
    is_time_index = path.suffix == SegmentFile.TIME_INDEX
    entries = list(index_entries(path, _base_offset(path), is_time_index=is_time_index))
    if options.index_sanity_check:
        for previous, entry in pairwise(entries):
            if entry.key <= previous.key or entry.value <= previous.value:
                raise ToolFailed(f"the entry {entry.key} -> {entry.value} follows {previous.key} -> {previous.value}")
        run.print(f"{name} passed sanity check.")
        return
    first, second = ("timestamp", "offset") if is_time_index else ("offset", "position")
    for entry in entries if not options.verify_index_only else ():
        run.print(f"{first}: {entry.key} {second}: {entry.value}")
    log = path.with_suffix(SegmentFile.LOG)
    if not is_time_index and log.exists():
        _compare(log, entries)


def _compare(log: Path, entries: list[IndexEntry]) -> None:
    """Compare an offset index with its log, or raise ToolFailed."""
    last_offsets = {batch.position: batch.header.last_offset for batch in batches_of(log, DEFAULT_MAX_SIZE)}
    wrong = [entry for entry in entries if last_offsets.get(entry.value) != entry.key]
    if wrong:
        shown = ", ".join(
            f"offset {entry.key} at position {entry.value}"
            f" (the log has {last_offsets.get(entry.value, 'no batch there')})"
            for entry in wrong[:3]
        )
        raise ToolFailed(f"{len(wrong)} of {len(entries)} entries do not fit {log.name}: {shown}")


def _base_offset(path: Path) -> int:
    """Return the base offset that the name of a segment's file has, or raise ToolFailed."""
    stem = path.stem.partition("-")[0] if path.suffix == SegmentFile.SNAPSHOT else path.stem
    if not stem.isdecimal():
        raise ToolFailed("expected a name such as 00000000000000000000.log: it has the first offset")
    return int(stem)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _text(value: bool) -> str:
    return "true" if value else "false"
