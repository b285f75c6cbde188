"""Structs are dataclasses for `dataclasses`, pydantic, msgspec, cattrs, rich, and pprint."""

from __future__ import annotations

import dataclasses
import inspect
import pprint
import pydoc
import typing
from typing import Any
from uuid import UUID

import cattrs
import msgspec
import pydantic
import pytest
from hypothesis.vendor.pretty import pretty
from rich.pretty import pretty_repr

from kwire.declare import Struct, array, field, int16, int32, maybe, nullable, string, uuid, zero
from kwire.declare.dataclass_interface import FieldMetadata
from kwire.declare.documentation import docstring, field_texts
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


class Never(Struct):
    """A struct that no other test uses as a dataclass."""

    name: nullable[string]
    counts: array[int32] = ()


class Bare(Struct):
    pass


BROKER = MetadataResponseBroker(node_id=1, host="h", port=9092)
RESPONSE = MetadataResponse(
    brokers=(BROKER,),
    topics=(
        MetadataResponseTopic(
            error_code=0,
            name="t",
            topic_id=UUID(int=1),
            partitions=(
                MetadataResponsePartition(
                    error_code=0, partition_index=0, leader_id=1, replica_nodes=(1,), isr_nodes=(1,)
                ),
            ),
        ),
    ),
)
AS_DICT = {"node_id": 1, "host": "h", "port": 9092, "rack": None}


# dataclasses


def test_structs_are_dataclasses() -> None:
    assert dataclasses.is_dataclass(MetadataResponseBroker)
    assert dataclasses.is_dataclass(BROKER)
    assert [f.name for f in dataclasses.fields(MetadataResponseBroker)] == ["node_id", "host", "port", "rack"]
    assert dataclasses.asdict(BROKER) == AS_DICT
    assert dataclasses.astuple(BROKER) == (1, "h", 9092, None)
    assert dataclasses.replace(BROKER, port=1).port == 1
    assert dataclasses.asdict(RESPONSE)["topics"][0]["partitions"][0]["replica_nodes"] == (1,)


def test_dataclass_fields_have_type_and_default() -> None:
    of = {f.name: f for f in dataclasses.fields(MetadataResponseBroker)}
    assert of["node_id"].default is dataclasses.MISSING
    assert of["rack"].default is None
    assert all(f.kw_only for f in of.values())
    assert typing.get_args(of["node_id"].type)[0] is int
    assert of["rack"].type == str | None
    assert {f.name: f.default for f in dataclasses.fields(MetadataResponseTopic)}["topic_id"] == UUID(int=0)


def test_structs_are_frozen() -> None:
    parameters: Any = MetadataResponseBroker.__dataclass_params__  # type: ignore[attr-defined]  # dataclasses' own
    assert parameters.frozen
    with pytest.raises(dataclasses.FrozenInstanceError):
        BROKER.port = 1  # type: ignore[misc]  # that is the point


def test_structs_without_fields_are_not_dataclasses() -> None:
    assert not dataclasses.is_dataclass(Struct)
    assert not dataclasses.is_dataclass(Bare)


def test_type_hints_and_signature() -> None:
    assert typing.get_type_hints(Never) is not None
    dataclasses.fields(Never)
    assert typing.get_type_hints(Never) == {"name": str | None, "counts": tuple[int, ...]}
    signature = inspect.signature(Never)
    assert list(signature.parameters) == ["name", "counts", "unknown_tags"]
    assert signature.parameters["name"].default is inspect.Parameter.empty
    assert signature.parameters["counts"].default == ()
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in signature.parameters.values())


class Everything(Struct):
    small: int16
    id: uuid = zero
    parts: array[Never] = ()
    part: maybe[Never] = field(default=None)
    blob: nullable[bytes] = None


EVERYTHING = Everything(
    small=1, id=UUID(int=2), parts=(Never(name=None, counts=(1, 2)),), part=Never(name="n"), blob=b"b"
)


# pydantic


def test_pydantic_validates_and_creates_structs() -> None:
    adapter = pydantic.TypeAdapter(MetadataResponseBroker)
    made = adapter.validate_python({"node_id": 1, "host": "h", "port": 9092})
    assert made == BROKER
    assert hash(made) == hash(BROKER)
    assert made.unknown_tags == {}
    assert adapter.validate_python(BROKER) is BROKER


def test_pydantic_checks_ranges() -> None:
    with pytest.raises(pydantic.ValidationError, match="less than or equal to 2147483647"):
        pydantic.TypeAdapter(MetadataResponseBroker).validate_python({"node_id": 1 << 31, "host": "h", "port": 1})
    schema = pydantic.TypeAdapter(MetadataResponseBroker).json_schema()
    assert schema["properties"]["node_id"]["minimum"] == -(1 << 31)


@pytest.mark.parametrize("value", [RESPONSE, EVERYTHING], ids=["response", "everything"])
def test_pydantic_round_trip(value: Any) -> None:
    adapter: Any = pydantic.TypeAdapter(type(value))
    assert adapter.validate_json(adapter.dump_json(value)) == value
    assert adapter.validate_python(adapter.dump_python(value)) == value


def test_pydantic_model_can_hold_structs() -> None:
    class Report(pydantic.BaseModel):
        leader: MetadataResponseBroker

    assert Report(leader=BROKER).model_dump() == {"leader": AS_DICT}
    assert Report.model_validate({"leader": AS_DICT}).leader == BROKER


# msgspec


@pytest.mark.parametrize("value", [RESPONSE, EVERYTHING], ids=["response", "everything"])
def test_msgspec_round_trip(value: Any) -> None:
    for module in (msgspec.json, msgspec.msgpack):
        assert module.decode(module.encode(value), type=type(value)) == value
    assert msgspec.convert(msgspec.to_builtins(value), type(value)) == value


def test_msgspec_sets_unknown_tags() -> None:
    made = msgspec.convert(AS_DICT, MetadataResponseBroker)
    assert made.unknown_tags == {}
    assert hash(made) == hash(BROKER)


# cattrs


def test_cattrs_round_trip() -> None:
    assert cattrs.unstructure(BROKER) == AS_DICT
    assert cattrs.structure(AS_DICT, MetadataResponseBroker) == BROKER
    converter = cattrs.Converter()
    converter.register_structure_hook(UUID, lambda value, _: value)
    assert converter.structure(converter.unstructure(RESPONSE), MetadataResponse) == RESPONSE


# rich


def test_rich_leaves_out_defaults() -> None:
    assert pretty_repr(BROKER) == "MetadataResponseBroker(node_id=1, host='h', port=9092)"
    assert pretty_repr(Everything(small=1)) == "Everything(small=1)"
    tagged = dataclasses.replace(BROKER, unknown_tags={1: b"a"})
    assert pretty_repr(tagged) == "MetadataResponseBroker(node_id=1, host='h', port=9092, unknown_tags={1: b'a'})"


# Hypothesis


@pytest.mark.parametrize("value", [BROKER, EVERYTHING], ids=["broker", "everything"])
def test_hypothesis_prints_a_message(value: Any) -> None:
    """An error while it prints an example would hide the failure that it reports."""
    assert "".join(pretty(value).split()) == "".join(repr(value).split())


# pprint


def test_pprint_breaks_a_message_into_lines() -> None:
    assert pprint.pformat(RESPONSE, width=60).startswith("MetadataResponse(throttle_time_ms=0,\n")
    assert len(pprint.pformat(RESPONSE, width=60).splitlines()) > 10


# Documentation


def test_field_metadata_has_text_and_versions() -> None:
    metadata = {f.name: f.metadata for f in dataclasses.fields(MetadataResponse)}
    assert metadata["cluster_authorized_operations"]["since"] == 8
    assert metadata["cluster_authorized_operations"]["until"] == 10
    assert metadata["brokers"]["until"] is None
    assert metadata["brokers"]["tag"] is None
    assert metadata["topics"]["doc"].startswith(field_texts(MetadataResponse)["topics"][:20])
    assert all(entry["doc"] for entry in metadata.values())
    assert set(metadata["brokers"]) == set(FieldMetadata.KEYS)
    assert dict(metadata["brokers"])["json_name"] == "brokers"
    assert "no such key" not in metadata["brokers"]


def test_help_shows_fields_and_no_hooks() -> None:
    shown = pydoc.plain(pydoc.render_doc(MetadataResponse))
    for f in dataclasses.fields(MetadataResponse):
        assert f"{f.name}: " in shown
    assert "Response, API key 3, versions 0-13, flexible 9+." in shown
    assert "cluster_id: nullable[string], v2+, default None" in shown
    assert field_texts(MetadataResponse)["cluster_id"].splitlines()[0] in shown
    assert "topics: tuple[kwire.messages.kafka.metadata.MetadataResponseTopic, ...]" in shown
    for hook in (
        "_first_construction",
        "Interval",
        "__annotations__",
        "__kwire_",
        "__dataclass",
        "__post_init__",
        "__rich_repr__",
        "__signature__",
        "__match_args__",
    ):
        assert hook not in shown


def test_class_documentation_lists_inherited_fields() -> None:
    class Local(MetadataResponseBroker):
        """A broker with a name."""

        name: string = ""

    assert Local.__doc__ is not None
    assert Local.__doc__.startswith("A broker with a name.\n\nFields:\n    node_id: int32, all versions\n")
    assert "    name: string, all versions, default ''" in Local.__doc__
    assert docstring(Local) == "A broker with a name."
    assert Bare.__doc__ is None
    Local.__doc__ = "Changed."
    assert Local.__doc__.startswith("Changed.\n\nFields:")


def test_class_documentation_survives_a_wrong_declaration() -> None:
    class Wrong(Struct):
        """A mistake."""

        number: int  # not a wire type

    assert "int is not a wire type" in (Wrong.__doc__ or "")
