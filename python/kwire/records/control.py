"""Control records: the markers that brokers write into partitions (KIP-98), and into the KRaft metadata log (KIP-595).

The key of a control record is its type. The value is a message that is declared in `kwire.messages.kafka`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kwire.codec import decode
from kwire.errors import KwireError
from kwire.messages.kafka.control_record_type_schema import ControlRecordTypeSchema
from kwire.versioned import decode_versioned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    from kwire.declare import Message
    from kwire.records.batch import Record, RecordBatch

    class Aborted(Protocol):
        """An aborted transaction of a Fetch response, whatever its class."""

        @property
        def producer_id(self) -> int: ...
        @property
        def first_offset(self) -> int: ...


class ControlRecordType(IntEnum):
    """The type of a control record."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1
    """A type that this version of kwire does not know."""


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """A decoded control record.

    Attributes:
        type: the type.
        version: the version of the value.
        value: an EndTxnMarker, LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord, or
            VotersRecord; None if the type is unknown.
    """

    type: ControlRecordType
    version: int
    value: Message | None


class InvalidControlRecord(KwireError, ValueError):
    """The key or the value of a control record has no version or no type (`reason`)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def control_record(record: Record) -> ControlRecord:
    """Decode a record of a control batch.

    Raises:
        InvalidControlRecord: the key or the value is too short, or has a negative version.
        DecodeError: the value is not a valid message.
        UnsupportedVersion: the value has a version that is not declared.
    """
    key_version = _version("key", record.key)
    if record.key is None or len(record.key) < 4:
        raise InvalidControlRecord(f"key: expected 4 bytes, found {len(record.key or b'')}")
    # Kafka reads the type of newer versions, too, which may be longer.
    number = decode(ControlRecordTypeSchema, record.key[2:4], version=0).type
    if number not in _TYPES:
        return ControlRecord(ControlRecordType.UNKNOWN, key_version, None)
    control_type = ControlRecordType(number)
    version = _version("value", record.value)
    return ControlRecord(
        control_type, version, decode_versioned(_value_class(control_type), record.value or b"").message
    )


def committed(batches: Iterable[RecordBatch], aborted: Iterable[Aborted]) -> Iterator[RecordBatch]:
    """Yield the batches that a consumer with `isolation.level=read_committed` sees (KIP-98).

    Batches of aborted transactions and control batches are left out. Kafka's consumer uses the same algorithm.

    Args:
        batches: the batches of a partition in a Fetch response, ascending.
        aborted: its `aborted_transactions`: producer id and first offset of each.

    Raises:
        InvalidControlRecord, DecodeError, UnsupportedVersion: a control record is malformed.
    """
    waiting = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
    open_aborted: set[int] = set()
    for batch in batches:
        while waiting and waiting[-1].first_offset <= batch.last_offset:
            open_aborted.add(waiting.pop().producer_id)
        if batch.is_control:
            if batch.records and control_record(batch.records[0]).type is ControlRecordType.ABORT:
                open_aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_aborted):
            yield batch


_TYPES = frozenset(record_type.value for record_type in ControlRecordType if record_type >= 0)


def _version(name: str, data: bytes | None) -> int:
    if data is None or len(data) < 2:
        raise InvalidControlRecord(f"{name}: expected at least 2 bytes for the version, found {len(data or b'')}")
    version = int.from_bytes(data[:2], "big", signed=True)
    if version < 0:
        raise InvalidControlRecord(f"{name}: expected a version of at least 0, found {version}")
    return version


def _value_class(control_type: ControlRecordType) -> type[Message]:
    from kwire.messages import kafka

    names = {
        ControlRecordType.ABORT: "EndTxnMarker",
        ControlRecordType.COMMIT: "EndTxnMarker",
        ControlRecordType.LEADER_CHANGE: "LeaderChangeMessage",
        ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
        ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
        ControlRecordType.KRAFT_VERSION: "KRaftVersionRecord",
        ControlRecordType.KRAFT_VOTERS: "VotersRecord",
    }
    message_class: type[Message] = getattr(kafka, names[control_type])
    return message_class
