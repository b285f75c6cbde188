"""Tagged structs that are not nullable are not written when all their fields are at their defaults."""

from __future__ import annotations

import pytest

import kwire
from kwire import EncodeError
from kwire.declare import Message, Struct, field, int32, maybe, nullable, string, zero
from kwire.declare.unknown_tags import unknown_tags
from tests.for_rows import for_rows
from tests.proof.codecs import Codec, through_both


class Leader(Struct):
    id: int32 = -1
    epoch: int32 = -1
    rack: nullable[string] = field(since=1, tag=0, default=None)


class Answer(Message, versions="0-1", flexible="0+"):
    leader: Leader = field(tag=1, default=zero)


DEFAULT = bytes.fromhex("00")
DEFAULT_IN_FULL = bytes.fromhex("01 01 09 ffffffff ffffffff 00")


def test_plan_has_the_default_of_the_struct() -> None:
    text = kwire.plan(Answer, version=0)
    assert text == "Answer v0 <leader#1:<id:int32 epoch:int32 -rack=null>={id=-1 epoch=-1}>"


@through_both
def test_default_is_not_written(codec: Codec) -> None:
    assert codec.encode(Answer(), version=0) == DEFAULT
    assert codec.encode(Answer(leader=Leader()), version=1) == DEFAULT
    assert codec.decode(Answer, DEFAULT, version=0) == Answer(leader=Leader(id=-1, epoch=-1))


@through_both
def test_default_on_the_wire_is_accepted(codec: Codec) -> None:
    decoded = codec.decode(Answer, DEFAULT_IN_FULL, version=0)
    assert decoded == Answer()
    assert codec.encode(decoded, version=0) == DEFAULT


@through_both
@for_rows(
    ("leader", "body"),
    [
        (Leader(epoch=2), "01 01 09 ffffffff 00000002 00"),
        (Leader(rack="a"), "01 01 0d ffffffff ffffffff 01 00 02 02 61"),
        (Leader(unknown_tags=unknown_tags({9: b"x"})), "01 01 0c ffffffff ffffffff 01 09 01 78"),
    ],
    ids=["plain field", "tagged field", "unknown tag"],
)
def test_any_other_value_is_written(codec: Codec, leader: Leader, body: str) -> None:
    message = Answer(leader=leader)
    assert codec.encode(message, version=1) == bytes.fromhex(body)
    assert codec.decode(Answer, bytes.fromhex(body), version=1) == message


@through_both
def test_field_that_the_version_lacks_is_rejected(codec: Codec) -> None:
    with pytest.raises(EncodeError) as caught:
        codec.encode(Answer(leader=Leader(rack="a")), version=0)
    assert (caught.value.kind, caught.value.path) == ("not_in_version", ("leader", "rack"))


class Vote(Struct):
    voter: maybe[int32]
    comment: maybe[nullable[string]] = None


class Votes(Message, versions="0", flexible="0+"):
    last: Vote = field(tag=0, default=zero)


@through_both
@for_rows(
    ("message", "body"),
    [(Votes(), "00"), (Votes(last=Vote(voter=-1)), "01 00 07 01 ffffffff 00 00")],
    ids=["absent", "present"],
)
def test_struct_may_have_maybes(codec: Codec, message: Votes, body: str) -> None:
    assert codec.encode(message, version=0) == bytes.fromhex(body)
    assert codec.decode(Votes, bytes.fromhex(body), version=0) == message


def test_json_leaves_the_default_out() -> None:
    assert kwire.to_json(Answer(), version=0) == {}
    assert kwire.from_json(Answer, {}, version=0) == Answer()
