"""Every `kafka` declaration equals Kafka's schema: fields, types, versions, and struct names.

`tests/data/schemas-*.json.xz` hold what the Java message classes of two releases report: for each version, the fields
in wire order, and the absent fields (type `absent`). `tests/data/structs-*.tsv.xz` hold the struct name of each field
with a struct or an array of structs. The tests describe the declarations in the same form and compare. A declaration
covers the versions of both releases. Where they differ, it follows the newer one: versions that were unstable in 3.9.1
changed later, and some fields were renamed.
"""

from __future__ import annotations

import json
import lzma
from base64 import urlsafe_b64encode
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import pytest

from kwire import messages
from kwire.declare.fields import MISSING, Field
from kwire.declare.introspect import describe, fields, structs_in
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
    WireType,
)
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message, Struct

Entry: TypeAlias = dict[str, Any]

DATA = Path(__file__).parent.parent / "data"
RELEASES = ("3.9.1", "4.4.0")
RENAMED = {
    "TxnOffsetCommitRequest": {"generationId": "generationIdOrMemberEpoch"},
    "VoteRequest": {
        "candidateEpoch": "replicaEpoch",
        "candidateId": "replicaId",
        "candidateDirectoryId": "replicaDirectoryId",
    },
}
"""The fields that Kafka 4 has renamed without a change of the bytes."""


@cache
def schemas(release: str) -> dict[str, Any]:
    """Return the schemas of a release by message name, without the unstable versions that a newer release has."""
    with lzma.open(DATA / f"schemas-{release}.json.xz") as file:
        found: dict[str, Any] = json.load(file)["messages"]
    if release != RELEASES[-1]:
        newer = schemas(RELEASES[-1])
        for name, schema in found.items():
            in_newer = newer.get(name, {"versions": {}})["versions"]
            versions = schema["versions"].items()
            schema["versions"] = {v: s for v, s in versions if not (s.get("unstable") and v in in_newer)}
    return found


CASES = [
    pytest.param(release, name, id=f"{name}-{release}") for release in RELEASES for name in sorted(schemas(release))
]
NAMES = sorted({name for release in RELEASES for name in schemas(release)})


def declared(name: str) -> type[Message]:
    return messages.find("kafka", name=name)


@for_rows(("release", "name"), CASES)
def test_fields_equal_kafkas_in_wire_order(release: str, name: str) -> None:
    for version, schema in schemas(release)[name]["versions"].items():
        expected = [_as_declared(name, entry) for entry in schema["fields"] if entry["type"] != "absent"]
        actual = list(_present(declared(name), int(version), flexible=schema["flexible"]))
        assert actual == expected, f"version {version}"


@for_rows(("release", "name"), CASES)
def test_absent_fields_have_kafkas_default_and_ignorable_flag(release: str, name: str) -> None:
    for version, schema in schemas(release)[name]["versions"].items():
        absent = [_as_declared(name, entry) for entry in schema["fields"] if entry["type"] == "absent"]
        present = {_as_declared(name, entry)["path"] for entry in schema["fields"] if entry["type"] != "absent"}
        expected = {entry["path"]: entry for entry in absent if entry["path"] not in present}
        actual = {entry["path"]: entry for entry in _absent(declared(name), int(version))}
        for path, entry in expected.items():
            if entry["ignorable"] is None:  # not measured
                entry["ignorable"] = actual[path]["ignorable"]
        unknown = actual.keys() - _paths(release, name)
        assert {path: entry for path, entry in actual.items() if path not in unknown} == expected, f"version {version}"


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


@for_rows("name", NAMES)
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


def test_few_responses_have_structs_with_a_suffix() -> None:
    suffixed = {
        name
        for name in NAMES
        for path, struct in _structs(declared(name)).items()
        if struct.__name__ != struct_names()[name][path]
    }
    assert suffixed == {
        "AlterClientQuotasResponse",
        "AlterPartitionResponse",
        "AssignReplicasToDirsResponse",
        "BeginQuorumEpochResponse",
        "DescribeQuorumResponse",
        "EndQuorumEpochResponse",
        "FetchSnapshotResponse",
        "VoteResponse",
    }


@for_rows("name", NAMES)
def test_every_field_is_in_some_version(name: str) -> None:
    """Finds fields that do not exist in Kafka. Two places can share a struct and use different fields."""
    cls = declared(name)
    present = {part for version in cls.versions for part in _reached(cls, version)}
    assert {(struct, field.name) for struct, _ in present for field in fields(struct)} == present


@for_rows("name", NAMES)
def test_class_keywords_equal_kafkas_schema(name: str) -> None:
    facts = describe(declared(name))
    known = [schemas(release)[name] for release in RELEASES if name in schemas(release)]

    assert set(facts.versions) == {int(version) for schema in known for version in schema["versions"]}
    for schema in known:
        assert facts.record_type == schema.get("record_type")
        if schema["api_key"] is None:
            kind = "header" if name.endswith("Header") else schema["kind"]
            assert (facts.api_key, facts.kind) == (-1, kind)
        else:
            assert (facts.api_key, facts.kind) == (schema["api_key"], schema["kind"])
        for version, body in schema["versions"].items():
            assert facts.is_flexible(int(version)) == body["flexible"], f"version {version}"
            if facts.api_key >= 0:
                assert facts.header_version(int(version)) == body["header_version"], f"version {version}"


def test_every_request_names_its_response() -> None:
    for name in NAMES:
        if name.endswith("Request"):
            assert describe(declared(name)).response == f"{name.removesuffix('Request')}Response"


@for_rows("topic", messages.TOPICS)
def test_records_of_a_topic_have_different_types(topic: str) -> None:
    """Kafka's schemas number the records of each topic; a key and its value share a number."""
    package = f"kwire.messages.{topic}"
    classes = [getattr(import_module(package), name) for name in messages.names(package)]
    numbers = {(cls.__name__.endswith("Key"), describe(cls).record_type) for cls in classes}

    assert len(numbers) == len(classes)
    assert None not in {number for _, number in numbers}


def test_messages_are_those_of_the_two_releases() -> None:
    """The data of groups of Kafka Connect and Streams is compared in `tests/messages/test_groups.py`."""
    embedded = {name for family in messages.GROUPS for name in messages.names(f"kwire.messages.{family}")}
    assert sorted({cls.__name__ for cls in messages.every("kafka")} - embedded) == NAMES


def test_look_up_by_key_returns_the_newer_of_two_names() -> None:
    """Key 74 was named ListClientMetricsResources before it supported other types."""
    for version in (None, 0, 1):
        found = messages.find("kafka", api_key=74, version=version, kind="request")
        assert found.__name__ == "ListConfigResourcesRequest"
    assert messages.find("kafka", name="ListClientMetricsResourcesRequest").api_key == 74


def _paths(release: str, name: str) -> set[str]:
    """Return the paths of the fields that a release has in any version of the message."""
    versions = schemas(release)[name]["versions"].values() if name in schemas(release) else ()
    return {_as_declared(name, entry)["path"] for version in versions for entry in version["fields"]}


def _as_declared(message: str, entry: Entry) -> Entry:
    """Return an entry of the schema as the declaration has it.

    In the schema of 3.9.1, some structs are not nullable although the code reads and writes null, such as the cursors
    of DescribeTopicPartitions; `schema_nullable` is therefore removed. Record batches are declared as bytes.
    """
    entry = {key: value for key, value in entry.items() if key != "schema_nullable"}
    if entry["type"].endswith("records"):
        compact = "compact_" if entry["type"].startswith("compact_") else ""
        entry |= {"type": f"{compact}{'nullable_' * entry['nullable']}bytes", "java_default": ""}
    above, dot, last = entry["path"].rpartition(".")
    if new := RENAMED.get(message, {}).get(last):
        entry["path"] = above + dot + new
        if "name" in entry:
            entry["name"] = camel_to_snake(new)
    return entry


def camel_to_snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def _present(
    struct: type[Struct], version: int, *, flexible: bool | None = None, prefix: str = "", depth: int = 0
) -> Iterator[Entry]:
    """Return the fields of a version in wire order, with the tagged fields last.

    A field that changes its type is declared twice with one JSON name, the older one with its last version as suffix.
    """
    if flexible is None:
        flexible = describe(struct).is_flexible(version)  # type: ignore[arg-type]  # only given without it for messages
    present = [f for f in fields(struct) if f.in_version(version)]
    tagged = sorted((f for f in present if f.tag is not None), key=lambda f: f.tag or 0)
    for field in present:
        if field.tag is None:
            yield from _entry_and_its_parts(field, version, flexible, prefix, depth)
    if flexible:
        tags = [f.tag for f in tagged]
        yield {"path": f"{prefix}_tagged_fields", "type": "tagged_fields", "depth": depth, "tags": tags}
    for field in tagged:
        yield from _entry_and_its_parts(field, version, flexible, prefix, depth)


def _entry_and_its_parts(field: Field, version: int, flexible: bool, prefix: str, depth: int) -> Iterator[Entry]:
    compact = flexible and field.compact
    null = field.nullable_in(version) or isinstance(field.type, MaybeType)  # a tagged nullable struct
    kind = _without_null(field.type)
    entry: Entry = {
        "path": prefix + field.json_name,
        "name": field.name.removesuffix(f"_v{field.until}"),
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
        yield from _present(inner.struct, version, flexible=flexible, prefix=below, depth=depth + 1)


def _absent(struct: type[Struct], version: int, *, prefix: str = "", depth: int = 0) -> Iterator[Entry]:
    """Return the absent fields of the structs of a version."""
    present = {field.json_name for field in fields(struct) if field.in_version(version)}
    for field in fields(struct):
        if not field.in_version(version):
            if field.json_name in present:
                continue
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
    """Return every field of every struct of a version."""
    for field in fields(struct):
        if field.in_version(version):
            yield struct, field.name
            for part in structs_in(field.type):
                yield from _reached(part, version)


def _without_null(type: WireType) -> WireType:
    return type.inner if isinstance(type, (NullableType, MaybeType)) else type


def _type_name(type: WireType, *, compact: bool, null: bool) -> str:
    """Return a type name of the schema. Arrays and structs have a separate entry for nullability."""
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
    """Return the value in a new Java object: the default, or the zero of the type."""
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
