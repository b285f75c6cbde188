"""Record batches: what producers send and what brokers store, of magic 0, 1, and 2.

The `records` fields of `ProduceRequest` and `FetchResponse` hold such bytes. Formats: KIP-31 and KIP-32 (magic 1),
KIP-98 (magic 2), KIP-82 (headers), KIP-110 (zstd), KIP-534 (delete horizon).

    batch      records and batches
    codec      bytes to batches, and back
    control    control records
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
from kwire.records.control import ControlRecord, ControlRecordType, InvalidControlRecord, control_record

__all__ = [
    "DEFAULT_MAX_RATIO",
    "DEFAULT_MAX_SIZE",
    "Attribute",
    "BatchHeader",
    "Compression",
    "ControlRecord",
    "ControlRecordType",
    "Header",
    "InvalidControlRecord",
    "MemoryRecords",
    "Record",
    "RecordBatch",
    "batch_headers",
    "batches",
    "columns",
    "columns_schema",
    "control_record",
    "decode",
    "encode",
    "increment_sequence",
]
