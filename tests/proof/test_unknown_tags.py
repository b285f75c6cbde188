"""Unknown tags in arrays of structs, where neighbors have the same or other tags: both codecs agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire import reference
from kwire.declare import Message, Struct, array, field, int16, int32

if TYPE_CHECKING:
    from collections.abc import Mapping


class Lag(Struct):
    replica: int32 = 0
    lag: int16 = 0


class Partition(Struct):
    index: int32 = 0
    replicas: array[int32] = ()
    isr: array[int32] = ()
    leader_epoch: int32 = field(tag=5, default=-1)


class Key(Struct):
    key: int16 = 0


class Tagged(Message, versions="0", flexible="0+"):
    partitions: array[Partition] = ()
    keys: array[Key] = ()


class Lags(Struct):
    index: int32 = 0
    lags: array[Lag] = ()
    isr: array[int32] = ()


class Lagging(Message, versions="0"):
    partitions: array[Lags] = ()


numbers = st.integers(-(2**31), 2**31 - 1) | st.integers(-6, 260)
lists = st.lists(numbers, max_size=5).map(tuple) | st.sampled_from([(), (1, 2, 3), (3, 4, 5), tuple(range(130))])
tags: st.SearchStrategy[Mapping[int, bytes]] = st.sampled_from(
    [
        {},
        {0: b""},
        {7: b"seven"},
        {1: b"", 127: b"x"},
        {128: b""},
        {300: b"0123456789"},
        {9: b"0123456789abcdef"},
        {4: b"", 6: b""},
    ]
)


def partitions() -> st.SearchStrategy[Partition]:
    return st.builds(
        lambda index, replicas, same, isr, epoch, unknown: Partition(
            index=index,
            replicas=replicas,
            isr=replicas if same else isr,
            leader_epoch=epoch,
            unknown_tags=unknown,
        ),
        numbers,
        lists,
        st.booleans(),
        lists,
        st.sampled_from([-1, -1, -1, 4]),
        tags,
    )


def repeated(elements: st.SearchStrategy[Partition]) -> st.SearchStrategy[tuple[Partition, ...]]:
    """Return arrays where neighbors are often equal."""
    runs = st.tuples(elements, st.integers(1, 4)).map(lambda run: [run[0]] * run[1])
    return st.lists(runs, max_size=6).map(lambda found: tuple([struct for run in found for struct in run]))


@given(repeated(partitions()), st.lists(st.builds(Key, key=st.integers(-5, 300), unknown_tags=tags), max_size=8))
def test_tagged_neighbors_decode_to_what_was_encoded(found: tuple[Partition, ...], keys: list[Key]) -> None:
    message = Tagged(partitions=found, keys=tuple(keys))
    body = reference.encode(message, version=0)
    assert kwire.encode(message, version=0) == body
    kwire.validate(Tagged, body, version=0)
    decoded = kwire.decode(Tagged, body, version=0)
    assert decoded == message == reference.decode(Tagged, body, version=0)
    assert [dict(partition.unknown_tags) for partition in decoded.partitions] == [
        dict(struct.unknown_tags) for struct in found
    ]


@given(st.binary(max_size=80))
def test_both_codecs_agree_on_any_bytes_of_tagged_structs(noise: bytes) -> None:
    body = b"\x04" + noise
    assert outcome(kwire.decode, body) == outcome(reference.decode, body)


def outcome(decode: object, body: bytes) -> object:
    assert callable(decode)
    try:
        return decode(Tagged, body, version=0)
    except kwire.DecodeError as error:
        return error.kind, error.offset, error.path


@given(
    st.lists(
        st.builds(
            Lags,
            index=numbers,
            lags=st.lists(st.builds(Lag, replica=numbers, lag=st.integers(-(2**15), 2**15 - 1)), max_size=3).map(tuple),
            isr=lists,
        ),
        max_size=8,
    )
)
def test_arrays_of_structs_in_neighbors_decode_to_what_was_encoded(found: list[Lags]) -> None:
    message = Lagging(partitions=tuple(found) * 3)
    body = reference.encode(message, version=0)
    kwire.validate(Lagging, body, version=0)
    assert kwire.decode(Lagging, body, version=0) == message == reference.decode(Lagging, body, version=0)


def test_equal_unknown_tags_of_neighbors_are_one_object() -> None:
    body = kwire.encode(Tagged(keys=tuple([Key(key=n, unknown_tags={100: b""}) for n in range(9)])), version=0)
    first, *others = kwire.decode(Tagged, body, version=0).keys
    assert all(other.unknown_tags is first.unknown_tags for other in others)
    assert dict(first.unknown_tags) == {100: b""}
