"""Decoded uuids have ordinary ints, whatever their number of digits."""

from __future__ import annotations

import gc
import pickle
import uuid
import weakref

import kwire
from tests.for_rows import for_rows
from tests.soundness.declared import Identified

DIGIT = 30
BOUNDARIES = sorted(
    number
    for bits in (*range(DIGIT, 128, DIGIT), 128, 8, 64)
    for number in ((1 << bits) - 1, (1 << bits) % (1 << 128), (1 << (bits - 1)) | 1)
)
"""Numbers around those at which an int gets another digit of 30 bits."""


@for_rows("number", BOUNDARIES, ids=hex)
def test_int_of_decoded_uuid_is_an_ordinary_int(number: int) -> None:
    decoded = kwire.decode(Identified, number.to_bytes(16), version=0).id
    assert decoded == uuid.UUID(int=number)
    assert type(decoded.int) is int
    assert decoded.int == number
    assert hash(decoded) == hash(uuid.UUID(int=number))
    assert (decoded.int + 1) - 1 == number
    assert decoded.int.bit_length() == number.bit_length()
    assert decoded.int >> 100 == number >> 100
    assert str(decoded.int) == str(number)
    assert decoded.is_safe is uuid.SafeUUID.unknown


@for_rows("number", BOUNDARIES, ids=hex)
def test_encoded_uuid_has_the_bytes_of_its_int(number: int) -> None:
    assert kwire.encode(Identified(id=uuid.UUID(int=number)), version=0) == number.to_bytes(16)


def test_decoded_uuid_can_be_pickled_and_weakly_referenced() -> None:
    decoded = kwire.decode(Identified, bytes(range(1, 17)), version=0).id
    assert pickle.loads(pickle.dumps(decoded)) == decoded
    reference = weakref.ref(decoded)
    assert reference() is decoded
    del decoded
    assert reference() is None


def test_collections_between_decoded_uuids_find_them_whole() -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        decoded = [kwire.decode(Identified, number.to_bytes(16), version=0).id for number in BOUNDARIES]
    finally:
        gc.set_threshold(*threshold)
    assert [uuid.int for uuid in decoded] == BOUNDARIES
