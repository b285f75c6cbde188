"""Record batches: what producers send and what brokers store, of magic 0, 1, and 2.

The `records` fields of `ProduceRequest` and `FetchResponse` hold such bytes. Formats: KIP-31 and KIP-32 (magic 1),
KIP-98 (magic 2), KIP-82 (headers), KIP-110 (zstd), KIP-534 (delete horizon).

    batch      records and batches
    codec      bytes to batches, and back
    control    control records
    internal   records of internal topics
    columnar   bytes to Arrow columns
    reference  the second codec, in plain Python
"""

from __future__ import annotations

from kwire.records.batch import (
    Attribute,
    BatchHeader,
    Compression,
    Header,
    MemoryRecords,
    Record,
    RecordBatch,
    increment_sequence,
)
from kwire.records.codec import (
    DEFAULT_MAX_RATIO,
    DEFAULT_MAX_SIZE,
    batch_headers,
    batches,
    decode,
    encode,
)
from kwire.records.columnar import columns, columns_schema
from kwire.records.control import ControlRecord, ControlRecordType, InvalidControlRecord, committed, control_record
from kwire.records.internal import (
    INTERNAL_TOPICS,
    InternalRecord,
    UnknownTopic,
    encode_internal_record,
    internal_record,
)

__all__ = [
    "DEFAULT_MAX_RATIO",
    "DEFAULT_MAX_SIZE",
    "INTERNAL_TOPICS",
    "Attribute",
    "BatchHeader",
    "Compression",
    "ControlRecord",
    "ControlRecordType",
    "Header",
    "InternalRecord",
    "InvalidControlRecord",
    "MemoryRecords",
    "Record",
    "RecordBatch",
    "UnknownTopic",
    "batch_headers",
    "batches",
    "columns",
    "columns_schema",
    "committed",
    "control_record",
    "decode",
    "encode",
    "encode_internal_record",
    "increment_sequence",
    "internal_record",
]
