"""Documents of clusters: what is written is read again, and what is wrong is said without showing values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.client.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClientQuotaEntity,
    ConfigResource,
    ConfigResourceType,
    PatternType,
    ResourceType,
    ScramMechanismName,
    SpecialName,
)
from kwire.client.admin.acl_values import SUPPORTED_OPERATIONS
from kwire_admin.operations.cluster_document.document import MAX_DEPTH, read, write
from kwire_admin.operations.cluster_document.state import DocumentState, Section, TopicSize
from kwire_admin.operations.parameters import InvalidArgument
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.one_of(
    TEXTS.filter(bool), st.sampled_from(["on", "010", "null", "~", "1e3", "- x", "a: b", "#", "<secret>", "é"])
)
VALUES = st.one_of(
    st.none(), TEXTS, st.sampled_from(["<secret>", "<<secret>", "a\u202eb", "a\x85b", "a\u2028b", "\ufeff"])
)
CONFIGS = st.dictionaries(st.sampled_from(["a.b", "retention.ms", "on", "yes"]), VALUES, min_size=1, max_size=3)
ENTITY_NAMES = st.one_of(st.none(), st.just(SpecialName.DEFAULT), NAMES.filter(lambda name: name != "<default>"))
ENTITIES = st.builds(ClientQuotaEntity, user=ENTITY_NAMES, client_id=ENTITY_NAMES, ip=ENTITY_NAMES)


@st.composite
def acls(draw: st.DrawFn) -> AclBinding:
    resource = draw(st.sampled_from(sorted(SUPPORTED_OPERATIONS)))
    return AclBinding(
        resource_type=resource,
        resource_name=draw(NAMES),
        pattern_type=draw(st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED])),
        principal=f"User:{draw(st.one_of(st.just(''), NAMES))}",
        host=draw(st.sampled_from(["*", "10.0.0.1"])),
        operation=draw(st.sampled_from([AclOperation.ALL, *sorted(SUPPORTED_OPERATIONS[resource])])),
        permission_type=draw(st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.DENY])),
    )


@st.composite
def states(draw: st.DrawFn) -> DocumentState:
    topics = draw(st.dictionaries(NAMES, st.builds(TopicSize, *[st.integers(1, 2**31 - 1)] * 2), max_size=3))
    configs = {ConfigResource(ConfigResourceType.TOPIC, name): draw(st.one_of(st.just({}), CONFIGS)) for name in topics}
    for type, names in (
        (ConfigResourceType.BROKER, st.sampled_from(["", "1", "20"])),
        (ConfigResourceType.GROUP, NAMES),
        (ConfigResourceType.CLIENT_METRICS, NAMES),
    ):
        for name in draw(st.sets(names, max_size=2)):
            configs[ConfigResource(type, name)] = draw(CONFIGS)
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    mechanisms = st.frozensets(st.sampled_from(list(ScramMechanismName)[1:]), min_size=1)
    return DocumentState(
        cluster_id=draw(st.sampled_from(["5L6g3nShT-eMCtK--X86sw", "-1", "007"])),
        sections=frozenset(Section),
        configs=configs,
        topics=topics,
        quotas=draw(
            st.dictionaries(
                ENTITIES.filter(lambda entity: entity != ClientQuotaEntity()),
                st.dictionaries(st.sampled_from(["producer_byte_rate", "request_percentage"]), numbers, min_size=1),
                max_size=3,
            )
        ),
        acls=draw(st.frozensets(acls(), max_size=3)),
        users=draw(st.dictionaries(NAMES, mechanisms, max_size=2)),
    )


@settings(max_examples=25)
@given(state=states(), as_json=st.booleans())
def test_what_is_written_is_read_again(
    state: DocumentState, as_json: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "document"
    text = write(state, as_json=as_json)
    file.write_text(text, encoding="utf-8")
    assert read(file) == state
    assert write(read(file), as_json=as_json) == text, "equal states have equal texts"
    assert (json.loads if as_json else yaml.safe_load)(text)["kwire"] == 1, "other programs can read it"


def test_acl_is_one_line() -> None:
    acl = AclBinding(
        resource_type=ResourceType.TOPIC, resource_name="a" * 249, principal="User:alice", operation=AclOperation.READ
    )
    state = DocumentState(sections=frozenset({Section.ACLS}), acls=frozenset({acl}))
    assert len(write(state, as_json=False).splitlines()) == 4


PASSWORD = "hunter2-s3cret"
INVALID = {
    "kwire: 2": "a newer kwire has written",
    "kwire: x": "kwire: expected a number",
    "topics: {}": "expected the key 'kwire'",
    "": "expected the sections of a document",
    "- a": "expected the sections of a document",
    "[1]": "expected the sections of a document",
    "{": "document:1: not valid JSON",
    "kwire: 1\ntopics: {": "document:3: not valid YAML",
    "kwire: 1\ntopisc: {}": "unknown section 'topisc': did you mean topics?",
    "kwire: 1\ntopics: [a]": "topics: expected names with values",
    "kwire: 1\ntopics:\n  a: {partitions: 0}": "topics: a: partitions: expected a number from 1 on",
    "kwire: 1\ntopics:\n  a: {partition: 1}": "topics: a: unknown key 'partition'",
    "kwire: 1\ntopics:\n  a: {}\n  b: {}\n  a: {}": "document:3: the key 'a' appears twice",
    '{"kwire": 1, "topics": {"a": {}, "a": {}}}': "the key 'a' appears twice",
    "kwire: 1\ntopics: &x {}\ngroups: *x": "document:2: an alias refers to this",
    "kwire: 1\ntopics:\n  ? [a]\n  : {}": "document:3: expected texts as keys",
    "kwire: 1\nbrokers: {first: {}}": "brokers: first: expected the id of a broker, or default",
    "kwire: 1\nbrokers: {default: [a]}": "brokers: default: expected names of configs",
    '{"kwire": 1, "brokers": {"1": {"a": null}}}': "brokers: 1: expected names of configs",
    f"kwire: 1\nbrokers: {{'1': {{ssl.key.password: {PASSWORD}}}}}": "brokers: 1: ssl.key.password is a secret",
    f"kwire: 1\nusers: {{alice: {{password: {PASSWORD}}}}}": "users: alice: expected a list of mechanisms",
    f"kwire: 1\nusers: {{alice: [{PASSWORD}]}}": "users: alice: expected a list of mechanisms",
    f"kwire: 1\nbrokers: {{'1': {{ssl.key.password: '{PASSWORD}": "not valid YAML",
    "kwire: 1\nquotas: [{producer_byte_rate: 1}]": "quotas: row 1: expected user or client_id or ip",
    "kwire: 1\nquotas: [{user: a, x: many}]": "quotas: row 1: x: expected a number",
    "kwire: 1\nquotas: [{user: a, x: nan}]": "quotas: row 1: x: expected a number",
    "kwire: 1\nquotas: [{user: a}, {user: a}]": "quotas: row 2: the entity appears twice",
    "kwire: 1\nquotas: [a]": "quotas: row 1: expected user, client_id, ip",
    "kwire: 1\nacls: [{principal: User:a}]": "acls: row 1: no operation",
    "kwire: 1\nacls: {a: b}": "acls: expected a list",
}


@for_rows("text, reason", INVALID.items())
def test_invalid_document_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "document"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="document") as error:
        read(file)
    assert reason in str(error.value)
    assert PASSWORD not in str(error.value)


def test_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="No such file"):
        read(tmp_path / "document")
    (tmp_path / "document").write_bytes(b"\xff")
    with pytest.raises(InvalidArgument, match="UTF-8"):
        read(tmp_path / "document")
    (tmp_path / "document").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="nested too deeply"):
        read(tmp_path / "document")


HOSTILE_PARTS = (
    *(opening * depth for depth in (MAX_DEPTH + 2, 2_000, 100_000) for opening in ("[", "{a: ", "- ", "? ", '{"a":')),
    "[" * 5_000 + "]" * 5_000,
    "\n".join(" " * level + "a:" for level in range(1, 2_000)),
    "9" * 5_000,
    "-" + "9" * 5_000,
    r'"\ud800"',
    r'"\udc00 \ud800"',
    "1e" + "9" * 400,
    "&a [*a]",
    "!!python/object:os.system x",
    "%YAML 9.9",
    "---\n---",
    "\x00",
    "\x85",
)
FRAMES = (
    "{}",
    "kwire: {}",
    "kwire: 1\na: {}",
    "kwire: 1\ntopics: {}",
    "kwire: 1\ntopics:\n  a: {}",
    "kwire: 1\ntopics:\n  a: {{partitions: {}}}",
    "kwire: 1\nbrokers:\n  {}: {{}}",
    "kwire: 1\nquotas: [{{user: a, x: {}}}]",
    "kwire: 1\nacls: [{}]",
    '{{"kwire": {}}}',
    '{{"kwire": 1, "topics": {}}}',
    '{{"kwire": 1, "topics": {{"a": {{"partitions": {}}}}}}}',
    '{{"kwire": 1, "cluster": {}}}',
)


@for_rows("part", HOSTILE_PARTS)
def test_deep_and_long_parts_are_read_or_refused_in_every_place(part: str, tmp_path: Path) -> None:
    """Nothing else comes out of a document: neither another error, nor the end of the process."""
    file = tmp_path / "document"
    for frame in FRAMES:
        file.write_text(frame.format(part), encoding="utf-8")
        try:
            shown = str(read(file))
        except InvalidArgument as error:
            shown = str(error)
        shown.encode()


def test_a_document_of_the_greatest_depth_is_read(tmp_path: Path) -> None:
    file = tmp_path / "document"
    for depth, reason in ((MAX_DEPTH - 1, "unknown section"), (MAX_DEPTH, "nested too deeply")):
        file.write_text(f"kwire: 1\na: {'[' * depth + ']' * depth}", encoding="utf-8")
        with pytest.raises(InvalidArgument, match=reason):
            read(file)


def test_scalars_are_texts(tmp_path: Path) -> None:
    """YAML 1.1 would read them as 8, True, and 685230.15."""
    file = tmp_path / "document"
    configs = {"a": "010", "b": "on", "c": "685_230.15", "d": "null"}
    texts = (
        "kwire: 1\nbrokers:\n  default: {a: 010, b: on, c: 685_230.15, d: null}",
        json.dumps({"kwire": 1, "brokers": {"default": configs}}),
    )
    for text in texts:
        file.write_text(text, encoding="utf-8")
        assert read(file).configs == {ConfigResource(ConfigResourceType.BROKER, ""): configs}
    file.write_text('{"kwire": 1, "brokers": {"default": {"a": true, "b": 1.50}}}', encoding="utf-8")
    assert read(file).configs == {ConfigResource(ConfigResourceType.BROKER, ""): {"a": "true", "b": "1.50"}}
