"""Every `kafka` declaration equals Kafka's schema: fields, types, versions, and struct names.

`tests/data/schemas-*.json.xz` hold what the Java message classes of two releases report: for each version, the fields in
wire order, and the fields of the class that the version lacks (type `absent`). `tests/data/structs-*.tsv.xz` hold the
struct name of each field whose type is a struct or an array of structs. The tests describe the declarations in the same
form and compare. A declaration covers the versions of both releases.
"""

from __future__ import annotations

import json
import lzma
from base64 import urlsafe_b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import pytest

from kwire import messages
from kwire.declare.field import MISSING, Field
from kwire.declare.introspect import describe, fields, structs_in
from kwire.declare.wire_types import ArrayType, BytesType, NullableType, Primitive, StringType, StructType, WireType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message, Struct

Entry: TypeAlias = dict[str, Any]

DATA = Path(__file__).parent.parent / "data"
RELEASES = ("3.9.1", "4.4.0")


@cache
def schemas(release: str) -> dict[str, Any]:
    """Message name -> what that release says of it."""
    with lzma.open(DATA / f"schemas-{release}.json.xz") as file:
        messages_of_release: dict[str, Any] = json.load(file)["messages"]
    return messages_of_release


CASES = [
    pytest.param(release, name, id=f"{name}-{release}") for release in RELEASES for name in sorted(schemas(release))
]
NAMES = sorted({name for release in RELEASES for name in schemas(release)})


def declared(name: str) -> type[Message]:
    return messages.find("kafka", name=name)


@pytest.mark.parametrize(("release", "name"), CASES)
def test_fields_stand_on_the_wire_as_in_kafka(release: str, name: str) -> None:
    for version, schema in schemas(release)[name]["versions"].items():
        theirs = [_as_measured(entry) for entry in schema["fields"] if entry["type"] != "absent"]
        ours = list(_standing(declared(name), int(version), flexible=schema["flexible"]))
        assert ours == theirs, f"version {version}"


@pytest.mark.parametrize(("release", "name"), CASES)
def test_fields_that_a_version_lacks_have_kafkas_default_and_are_refused_or_dropped_as_in_kafka(
    release: str, name: str
) -> None:
    for version, schema in schemas(release)[name]["versions"].items():
        theirs = {entry["path"]: entry for entry in schema["fields"] if entry["type"] == "absent"}
        ours = {entry["path"]: entry for entry in _absent(declared(name), int(version))}
        unheard_of = ours.keys() - _paths(release, name)
        assert {path: entry for path, entry in ours.items() if path not in unheard_of} == theirs, f"version {version}"


@cache
def struct_names() -> dict[str, dict[str, str]]:
    """Return, for each message, the schema's struct name of each path. The newer release wins."""
    names: dict[str, dict[str, str]] = {}
    for release in RELEASES:
        with lzma.open(DATA / f"structs-{release}.tsv.xz", "rt") as file:
            for line in file:
                message, path, struct = line.rstrip("\n").split("\t")
                names.setdefault(message, {})[path] = struct
    return names


@pytest.mark.parametrize("name", NAMES)
def test_structs_are_named_as_in_kafka(name: str) -> None:
    """A response struct takes the suffix `Response` where the request has another struct of the same name."""
    expected = dict(struct_names().get(name, {}))
    if name.endswith("Response"):
        in_request = _structs(declared(f"{name.removesuffix('Response')}Request"))
        by_name = {struct.__name__: struct for struct in in_request.values()}
        for path, struct in _structs(declared(name)).items():
            if by_name.get(expected[path], struct) is not struct:
                expected[path] += "Response"

    assert {path: struct.__name__ for path, struct in _structs(declared(name)).items()} == expected


def test_only_three_response_structs_need_a_suffix() -> None:
    suffixed = {
        f"{name}.{struct.__name__}"
        for name in NAMES
        for path, struct in _structs(declared(name)).items()
        if struct.__name__ != struct_names()[name][path]
    }
    assert suffixed == {
        "AlterClientQuotasResponse.EntryDataResponse",
        "DescribeQuorumResponse.PartitionDataResponse",
        "DescribeQuorumResponse.TopicDataResponse",
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_in_some_version(name: str) -> None:
    """So that no field is invented; two places may share a struct of which each has some fields only."""
    cls = declared(name)
    standing = {part for version in cls.versions for part in _reached(cls, version)}
    assert {(struct, field.name) for struct, _ in standing for field in fields(struct)} == standing


@pytest.mark.parametrize("name", NAMES)
def test_class_keywords_say_what_kafka_says(name: str) -> None:
    facts = describe(declared(name))
    known = [schemas(release)[name] for release in RELEASES if name in schemas(release)]

    assert set(facts.versions) == {int(version) for schema in known for version in schema["versions"]}
    for schema in known:
        if name.endswith("Header"):
            assert (facts.api_key, facts.kind) == (-1, "header")
        else:
            assert (facts.api_key, facts.kind) == (schema["api_key"], schema["kind"])
        for version, body in schema["versions"].items():
            assert facts.is_flexible(int(version)) == body["flexible"], f"version {version}"
            if facts.kind != "header":
                assert facts.header_version(int(version)) == body["header_version"], f"version {version}"


def test_every_request_names_its_response() -> None:
    for name in NAMES:
        if name.endswith("Request"):
            assert describe(declared(name)).response == f"{name.removesuffix('Request')}Response"


def test_the_messages_are_those_of_the_two_releases() -> None:
    assert sorted(cls.__name__ for cls in messages.every("kafka")) == NAMES


def test_the_newer_name_of_a_key_answers_the_look_up() -> None:
    """Key 74 was ListClientMetricsResources before it could list more."""
    for version in (None, 0, 1):
        found = messages.find("kafka", api_key=74, version=version, kind="request")
        assert found.__name__ == "ListConfigResourcesRequest"
    assert messages.find("kafka", name="ListClientMetricsResourcesRequest").api_key == 74


def _paths(release: str, name: str) -> set[str]:
    """Every field that this release knows in some version of the message."""
    versions = schemas(release)[name]["versions"].values() if name in schemas(release) else ()
    return {entry["path"] for version in versions for entry in version["fields"]}


def _as_measured(entry: Entry) -> Entry:
    """An entry of the schema without the one remark in which Kafka's schema and its code disagree.

    The schema of 3.9.1 calls the cursors of DescribeTopicPartitions non-nullable; its code reads and writes null.
    """
    return {key: value for key, value in entry.items() if key != "schema_nullable"}


def _standing(
    struct: type[Struct], version: int, *, flexible: bool | None = None, prefix: str = "", depth: int = 0
) -> Iterator[Entry]:
    """The fields that ``version`` has, in the order of the wire: the tagged ones behind the tag section's place."""
    if flexible is None:
        flexible = describe(struct).is_flexible(version)  # type: ignore[arg-type]  # only messages come without it
    standing = [f for f in fields(struct) if f.in_version(version)]
    tagged = sorted((f for f in standing if f.tag is not None), key=lambda f: f.tag or 0)
    for field in standing:
        if field.tag is None:
            yield from _entry_and_its_parts(field, version, flexible, prefix, depth)
    if flexible:
        tags = [f.tag for f in tagged]
        yield {"path": f"{prefix}_tagged_fields", "type": "tagged_fields", "depth": depth, "tags": tags}
    for field in tagged:
        yield from _entry_and_its_parts(field, version, flexible, prefix, depth)


def _entry_and_its_parts(field: Field, version: int, flexible: bool, prefix: str, depth: int) -> Iterator[Entry]:
    compact = flexible and field.compact
    null = field.nullable_in(version)
    kind = _without_null(field.type)
    entry: Entry = {
        "path": prefix + field.json_name,
        "name": field.name,
        "type": _type_name(kind, compact=compact, null=null),
        "nullable": null,
        "depth": depth,
        "java_default": _java_default(field),
    }
    if isinstance(kind, ArrayType):
        entry["element"] = _type_name(kind.element, compact=compact, null=False)
    if field.tag is not None:
        entry["tag"] = field.tag
    yield entry
    inner = kind.element if isinstance(kind, ArrayType) else kind
    if isinstance(inner, StructType):
        below = f"{prefix}{field.json_name}{'[]' if isinstance(kind, ArrayType) else ''}."
        yield from _standing(inner.struct, version, flexible=flexible, prefix=below, depth=depth + 1)


def _absent(struct: type[Struct], version: int, *, prefix: str = "", depth: int = 0) -> Iterator[Entry]:
    """The fields that ``version`` lacks, in structs that it has."""
    for field in fields(struct):
        if not field.in_version(version):
            yield {
                "path": prefix + field.json_name,
                "type": "absent",
                "depth": depth,
                "java_default": _java_default(field),
                "ignorable": field.ignorable,
            }
            continue
        kind = _without_null(field.type)
        inner = kind.element if isinstance(kind, ArrayType) else kind
        if isinstance(inner, StructType):
            below = f"{prefix}{field.json_name}{'[]' if isinstance(kind, ArrayType) else ''}."
            yield from _absent(inner.struct, version, prefix=below, depth=depth + 1)


def _structs(struct: type[Struct], prefix: str = "") -> dict[str, type[Struct]]:
    """Return the struct class of each path, whatever the version."""
    found: dict[str, type[Struct]] = {}
    for field in fields(struct):
        kind = _without_null(field.type)
        for part in structs_in(kind):
            path = f"{prefix}{field.json_name}{'[]' if isinstance(kind, ArrayType) else ''}"
            found[path] = part
            found.update(_structs(part, f"{path}."))
    return found


def _reached(struct: type[Struct], version: int) -> Iterator[tuple[type[Struct], str]]:
    """Every field of every struct that ``version`` puts on the wire."""
    for field in fields(struct):
        if field.in_version(version):
            yield struct, field.name
            for part in structs_in(field.type):
                yield from _reached(part, version)


def _without_null(type: WireType) -> WireType:
    return type.inner if isinstance(type, NullableType) else type


def _type_name(type: WireType, *, compact: bool, null: bool) -> str:
    """As the schema spells it; arrays and structs say elsewhere whether they may be null."""
    prefix = "compact_" if compact else ""
    match type:
        case Primitive(name="bool"):
            return "boolean"
        case Primitive(name=name):
            return name
        case StringType():
            return f"{prefix}nullable_string" if null else f"{prefix}string"
        case BytesType():
            return f"{prefix}nullable_bytes" if null else f"{prefix}bytes"
        case ArrayType():
            return f"{prefix}array"
        case StructType():
            return "struct"
    raise AssertionError(f"Kafka has no {type!r}")


def _java_default(field: Field) -> object:
    """What a fresh Java object holds. A field without ``default=`` stands for the zero of its type."""
    default = field.default
    match _without_null(field.type):
        case Primitive(name="uuid"):
            raw = (UUID(int=0) if default is MISSING else default).bytes
            return urlsafe_b64encode(raw).decode().rstrip("=")
        case Primitive(name="bool"):
            return False if default is MISSING else default
        case Primitive(name="float64"):
            return 0.0 if default is MISSING else default
        case Primitive():
            return 0 if default is MISSING else default
        case StringType():
            return "" if default is MISSING else default
        case BytesType():
            return None if default is None else "" if default is MISSING else default.decode("ascii")
        case ArrayType():
            return None if default is None else [] if default is MISSING else list(default)
        case StructType():
            return None if default is None else "<struct>"
    raise AssertionError(f"Kafka has no {field.type!r}")
