"""Engine and reference on generated and mutated batches: the same values, the same bytes, the same errors."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kwire.records import Compression, Header, Record, RecordBatch
from tests.for_rows import for_rows
from tests.installing import ROOT
from tests.records import vectors
from tests.records.codecs import ENGINE, check_agreement, check_round_trip, fields_of

REGRESSIONS = ROOT / "fuzz" / "regressions" / "records"
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
CONTENT = st.none() | st.binary(max_size=40) | st.sampled_from([b"", b"value" * 40])
HEADERS = st.lists(st.builds(Header, key=st.text(max_size=8), value=CONTENT), max_size=3).map(tuple)


@st.composite
def batches(draw: st.DrawFn) -> RecordBatch:
    magic = draw(st.integers(0, 2))
    compression = draw(st.sampled_from(Compression if magic == 2 else list(Compression)[:4]))
    base = draw(st.integers(0, 1 << 40))
    deltas = draw(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=5, unique=True).map(sorted))
    append_time = magic > 0 and draw(st.booleans())
    max_timestamp = -1 if magic == 0 else draw(INT64)
    records = tuple(
        Record(
            offset=base + delta - deltas[0],
            timestamp=-1 if magic == 0 else max_timestamp if append_time else draw(INT64),
            key=draw(CONTENT),
            value=draw(CONTENT),
            headers=draw(HEADERS) if magic == 2 else (),
        )
        for delta in deltas
    )
    if magic < 2 and compression == Compression.NONE:
        records = records[:1]
        max_timestamp = records[0].timestamp
    return RecordBatch(
        base_offset=base,
        magic=magic,
        attributes=compression | (0x08 if append_time else 0),
        last_offset_delta=records[-1].offset - base,
        base_timestamp=draw(INT64) if magic == 2 else -1,
        max_timestamp=max_timestamp,
        partition_leader_epoch=draw(st.integers(-1, 9)) if magic == 2 else -1,
        producer_id=draw(st.integers(-1, 9)) if magic == 2 else -1,
        records=records,
    )


@given(batches())
def test_generated_batches_round_trip(batch: RecordBatch) -> None:
    check_round_trip((batch,))


@given(batches(), st.data())
def test_mutated_batches_have_the_same_outcome(batch: RecordBatch, data: st.DataObject) -> None:
    written = bytearray(ENGINE.encode(fields_of(batch), batch.records, None))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(written) - 1))
        written[place] ^= data.draw(st.integers(1, 255))
    check_agreement(bytes(written), check_crc=False)


@given(st.binary(max_size=120), st.integers(0, 2))
def test_arbitrary_records_have_the_same_outcome(payload: bytes, magic: int) -> None:
    header = bytearray(ENGINE.encode(fields_of(EMPTY), (), None))
    header[57:61] = (len(payload) // 7).to_bytes(4, "big")
    header[8:12] = (49 + len(payload)).to_bytes(4, "big")
    header[16] = magic
    check_agreement(bytes(header) + payload, check_crc=False)


EMPTY = RecordBatch(base_offset=0, last_offset_delta=0, base_timestamp=-1, max_timestamp=-1, records=())


@for_rows("line", vectors.good()[::7], ids=lambda line: line["case"])
def test_mutated_vectors_have_the_same_outcome(line: dict[str, Any]) -> None:
    source = random.Random(line["case"])
    data = bytes.fromhex(line["hex"])[:4000]
    for _ in range(30):
        mutated = bytearray(data)
        match source.randrange(4):
            case 0:
                del mutated[source.randrange(len(mutated)) :]
            case 1:
                mutated[source.randrange(len(mutated))] ^= 1 << source.randrange(8)
            case 2:
                place = source.randrange(len(mutated))
                mutated[place : place + 4] = source.choice([b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4)])
            case 3:
                mutated[source.randrange(12, len(mutated)) :] += source.randbytes(source.randrange(8))
        # Half of them reach the records: the checksum is not compared.
        check_agreement(bytes(mutated), check_crc=source.random() < 0.1)


def test_regressions_have_the_same_outcome() -> None:
    for file in REGRESSIONS.glob("[!.]*"):
        check_agreement(file.read_bytes(), check_crc=False)
