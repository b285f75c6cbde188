"""Documents in YAML and JSON.

    kwire: 1
    cluster: 5L6g3nShT-eMCtK--X86sw
    brokers:
      default:
        log.retention.ms: 86400000
      '1':
        ssl.keystore.password: <secret>
    topics:
      orders:
        partitions: 6
        replication_factor: 3
        configs:
          retention.ms: 86400000
    groups: {billing: {consumer.session.timeout.ms: 45000}}
    client_metrics: {latency: {interval.ms: 60000}}
    quotas:
    - {user: alice, producer_byte_rate: 1048576}
    users:
      alice: [SCRAM-SHA-512]
    acls:
    - {resource_type: TOPIC, resource_name: orders, principal: User:alice, operation: READ}

Every scalar is a text, whether it is quoted or not: YAML would otherwise turn `on` into a boolean and `010` into 8. A
secret is never written. A document that contains one is refused, without showing it.
"""

from __future__ import annotations

import json
import re
from math import isfinite

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire._util.light_dataclasses import fields
from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.similar_names import did_you_mean
from kwire._util.yaml_text import OneLine, yaml_text
from kwire.client.admin import (
    AclBinding,
    ClientQuotaEntity,
    ConfigResource,
    ConfigResourceType,
    ScramMechanismName,
)
from kwire.client.admin.quotas import entity_name_text, parse_entity_name
from kwire.declare.secrets import is_secret_config
from kwire_admin.operations.acl_resources import acl_of_row
from kwire_admin.operations.cluster_document.state import CONFIG_SECTIONS, DocumentState, Section, TopicSize
from kwire_admin.operations.config_journal import HIDDEN
from kwire_admin.operations.parameters import InvalidArgument, read_argument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

FORM, CLUSTER = "kwire", "cluster"
"""The keys of the form of a document, and of the id of its cluster."""
CURRENT_FORM = 1
"""The form of documents. A change that older readers would misunderstand gets a new number."""
DEFAULT_BROKER = "default"
"""The name of the resource with the defaults of all brokers."""
ENTITY_PARTS = ("user", "client_id", "ip")
"""The keys of a quota that name its entity."""
NUMBER = re.compile("[0-9]{1,10}")
"""A number in a document. `int` is not called with more digits: its time is quadratic, and from 4,300 on it raises."""
MAX_DEPTH = 32
"""Levels of a YAML document. Its own form has four; chosen so that no form of the future is near."""
LIKE_HIDDEN = re.compile(f"<*{HIDDEN}")
MECHANISMS = {
    mechanism.value: mechanism for mechanism in ScramMechanismName if mechanism is not ScramMechanismName.UNKNOWN
}


# Writing


def write(state: DocumentState, *, as_json: bool) -> str:
    """Return the text of a document."""
    document: dict[str, Any] = {FORM: CURRENT_FORM, CLUSTER: state.cluster_id}
    for section in Section:
        if section in state.sections:
            document[section.value] = _written(section, state)
    if as_json:
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return yaml_text(document)


def _written(section: Section, state: DocumentState) -> Any:
    """Return a section as nested values, sorted, so that equal states have equal texts."""
    match section:
        case Section.TOPICS:
            return {name: _written_topic(name, size, state) for name, size in sorted(state.topics.items())}
        case Section.QUOTAS:
            entities = sorted(state.quotas.items(), key=lambda item: str(item[0]))
            return [OneLine({**_names(entity), **dict(map(_number, values.items()))}) for entity, values in entities]
        case Section.USERS:
            return {user: sorted(map(str, mechanisms)) for user, mechanisms in sorted(state.users.items())}
        case Section.ACLS:
            return [OneLine(_written_acl(acl)) for acl in sorted(state.acls)]
    type = CONFIG_SECTIONS[section]
    return {
        resource.name or DEFAULT_BROKER: _written_configs(values)
        for resource, values in sorted(state.configs.items())
        if resource.type is type
    }


def _written_configs(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: HIDDEN if value is None else _escaped(value) for name, value in sorted(values.items())}


def _escaped(value: str) -> str:
    """Return a value that is not read as a secret: a value that looks like one gets one more `<`."""
    return f"<{value}" if LIKE_HIDDEN.fullmatch(value) else value


def _written_topic(name: str, size: TopicSize, state: DocumentState) -> dict[str, Any]:
    configs = state.configs.get(ConfigResource(ConfigResourceType.TOPIC, name))
    topic: dict[str, Any] = {key: value for key, value in size._asdict().items() if value is not None}
    return {**topic, "configs": _written_configs(configs)} if configs else topic


def _names(entity: ClientQuotaEntity) -> dict[str, str]:
    names = ((part, getattr(entity, part)) for part in ENTITY_PARTS)
    return {part: entity_name_text(name) for part, name in names if name is not None}


def _number(item: tuple[str, float]) -> tuple[str, int | float]:
    key, value = item
    return key, int(value) if value.is_integer() else value


def _written_acl(acl: AclBinding) -> dict[str, str]:
    """Return the fields of an ACL without those with their defaults."""
    values = ((field.name, getattr(acl, field.name), field.default) for field in fields(AclBinding))
    return {name: str(value) for name, value, default in values if value != default}


# Reading


def read(file: Path) -> DocumentState:
    """Return the state that a document describes.

    Raises:
        InvalidArgument: the file cannot be read; it was written by a newer version; it contains a secret, an unknown
            section or key, a key twice, or an invalid value. The error names the place, and never shows a config.
    """
    document = _load(file)
    if not isinstance(document, dict):
        raise InvalidArgument(f"{file}: expected the sections of a document, as `configs export` prints it")
    _check_form(file, document)
    sections = [Section(key) for key in document if key in set(Section)]
    reader = _Reader(file)
    state: dict[str, Any] = {"configs": {}}
    for section in sections:
        reader.read_section(section, document[section], state)
    cluster_id = document.get(CLUSTER)
    return DocumentState(
        cluster_id=None if cluster_id in (None, "null", "") else str(cluster_id), sections=frozenset(sections), **state
    )


def _check_form(file: Path, document: Mapping[str, Any]) -> None:
    form = document.get(FORM)
    if form is None:
        raise InvalidArgument(f"{file}: expected the key {FORM!r} with the form of the document: write {FORM}: 1")
    if not (isinstance(form, str) and NUMBER.fullmatch(form)):
        raise InvalidArgument(f"{file}: {FORM}: expected a number")
    if int(form) > CURRENT_FORM:
        raise InvalidArgument(
            f"{file}: the document has form {form}, which a newer kwire has written, and this one reads form "
            f"{CURRENT_FORM}: install the newer kwire"
        )
    keys = (FORM, CLUSTER, *Section)
    for key in document:
        if key not in keys:
            raise InvalidArgument(f"{file}: unknown section {key!r}{did_you_mean(key, keys)}")


def _load(file: Path) -> Any:
    """Return the mappings, lists, and texts of a file."""
    text = read_argument(file)
    # The texts of parser errors can show a part of the file, which may be a secret.
    if text.lstrip().startswith(("{", "[")):
        try:
            return parse_json_document(
                text,
                parse_int=str,
                parse_float=str,
                parse_constant=str,
                object_pairs_hook=lambda pairs: _unique(file, pairs),
            )
        except MalformedJson as error:
            line = "" if error.line is None else f":{error.line}"
            raise InvalidArgument(f"{file}{line}: not valid JSON: {error.reason}") from None
    return _load_yaml(file, text)


def _load_yaml(file: Path, text: str) -> Any:
    import yaml

    try:
        return _YamlEvents(file, yaml.parse(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = "" if mark is None else f":{mark.line + 1}"
        raise InvalidArgument(f"{file}{line}: not valid YAML") from None
    except yaml.YAMLError:
        raise InvalidArgument(f"{file}: not valid YAML") from None


class _YamlEvents:
    """Values of a document from the events of its parser.

    The composer of libyaml recurses in C once for each level, and its scanner looks at every open bracket for each
    token. Events arrive one by one, so a document that is nested too deeply is refused after MAX_DEPTH brackets.
    An alias is an error: a few lines of them can stand for gigabytes.
    """

    def __init__(self, file: Path, events: Iterator[Any]) -> None:
        self._file = file
        self._events = events
        self._anchors: dict[str, str] = {}

    def document(self) -> Any:
        """Return the value of the only document; None without one.

        Raises:
            InvalidArgument: see `_value`, or there are several documents.
        """
        next(self._events)  # the start of the stream
        if _kind(next(self._events)) != "DocumentStart":
            return None
        value = self._value(next(self._events), 1)
        next(self._events)  # the end of the document
        following = next(self._events)
        if _kind(following) != "StreamEnd":
            raise InvalidArgument(f"{self._where(following)}: not valid YAML: a second document begins")
        return value

    def _value(self, event: Any, depth: int) -> Any:
        """Return the mapping, list, or text that begins with an event.

        Raises:
            InvalidArgument: a key is not a text or appears twice, there is an alias, a text is not Unicode, or the
                nesting is too deep.
        """
        where, kind = self._where(event), _kind(event)
        if kind == "Alias":
            anchored = self._anchors.get(event.anchor, where)
            raise InvalidArgument(f"{anchored}: an alias refers to this: write it a second time")
        if event.anchor is not None:
            self._anchors[event.anchor] = where
        if kind == "Scalar":
            text = str(event.value)
            if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
                raise InvalidArgument(f"{where}: a text has a lone surrogate, which is not a character")
            return text
        if depth > MAX_DEPTH:
            raise InvalidArgument(f"{where}: the document is nested too deeply")
        if kind == "SequenceStart":
            return [self._value(item, depth + 1) for item in self._until("SequenceEnd")]
        pairs = [
            (self._value(key, depth + 1), self._value(next(self._events), depth + 1))
            for key in self._until("MappingEnd")
        ]
        if not all(isinstance(key, str) for key, _ in pairs):
            raise InvalidArgument(f"{where}: expected texts as keys")
        return _unique(where, pairs)

    def _until(self, end: str) -> Iterator[Any]:
        while _kind(event := next(self._events)) != end:
            yield event

    def _where(self, event: Any) -> str:
        return f"{self._file}:{event.start_mark.line + 1}"


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _unique(where: object, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise InvalidArgument(f"{where}: the key {key!r} appears twice")
        values[key] = {True: "true", False: "false"}[value] if isinstance(value, bool) else value
    return values


class _Reader:
    """Sections of a document as parts of a state."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read_section(self, section: Section, value: Any, state: dict[str, Any]) -> None:
        """Add a section to the attributes of a state.

        Raises:
            InvalidArgument: the section is invalid.
        """
        match section:
            case Section.TOPICS:
                state["topics"] = {}
                for where, name, topic in self._named(section, value):
                    size, configs = self._topic(where, topic)
                    state["topics"][name] = size
                    state["configs"][ConfigResource(ConfigResourceType.TOPIC, name)] = configs
            case Section.QUOTAS:
                state["quotas"] = self._quotas(self._rows(section, value))
            case Section.USERS:
                state["users"] = {
                    name: self._mechanisms(where, mechanisms) for where, name, mechanisms in self._named(section, value)
                }
            case Section.ACLS:
                state["acls"] = frozenset(acl_of_row(where, row) for where, row in self._rows(section, value))
            case _:
                for where, name, configs in self._named(section, value):
                    state["configs"][self._resource(where, section, name)] = self._configs(where, configs)

    def _named(self, section: Section, value: Any) -> Iterator[tuple[str, str, Any]]:
        """Return the location, name, and value of each item of a section. A section without items is empty."""
        if value in ("", None):
            return
        if not isinstance(value, dict):
            raise InvalidArgument(f"{self._file}: {section}: expected names with values")
        for name, item in value.items():
            yield f"{self._file}: {section}: {name}", name, item

    def _rows(self, section: Section, value: Any) -> Iterator[tuple[str, Any]]:
        if value in ("", None):
            return
        if not isinstance(value, list):
            raise InvalidArgument(f"{self._file}: {section}: expected a list")
        for number, row in enumerate(value, 1):
            yield f"{self._file}: {section}: row {number}", row

    def _resource(self, where: str, section: Section, name: str) -> ConfigResource:
        if section is Section.BROKERS and name != DEFAULT_BROKER and not (name.isascii() and name.isdecimal()):
            raise InvalidArgument(f"{where}: expected the id of a broker, or {DEFAULT_BROKER}")
        is_default = section is Section.BROKERS and name == DEFAULT_BROKER
        return ConfigResource(CONFIG_SECTIONS[section], "" if is_default else name)

    def _configs(self, where: str, value: Any) -> dict[str, str | None]:
        if value in ("", None):
            return {}
        if not (isinstance(value, dict) and all(isinstance(item, str) for item in value.values())):
            raise InvalidArgument(f"{where}: expected names of configs with texts or numbers")
        for name, text in value.items():
            if is_secret_config(name) and text not in ("", HIDDEN):
                raise InvalidArgument(
                    f"{where}: {name} is a secret, which has no place in a file: write {HIDDEN!r}, and set it with "
                    "`kafka configs set --from-file`"
                )
        return {
            name: None if text == HIDDEN else text[1:] if LIKE_HIDDEN.fullmatch(text) else text
            for name, text in value.items()
        }

    def _topic(self, where: str, value: Any) -> tuple[TopicSize, dict[str, str | None]]:
        topic = {} if value in ("", None) else value
        keys = (*TopicSize._fields, "configs")
        if not isinstance(topic, dict):
            raise InvalidArgument(f"{where}: expected {', '.join(keys)}")
        for key in topic:
            if key not in keys:
                raise InvalidArgument(f"{where}: unknown key {key!r}: expected {', '.join(keys)}")
        numbers = {key: self._count(f"{where}: {key}", topic[key]) for key in TopicSize._fields if key in topic}
        return TopicSize(**numbers), self._configs(f"{where}: configs", topic.get("configs"))

    def _count(self, where: str, value: Any) -> int:
        if not (isinstance(value, str) and NUMBER.fullmatch(value) and 0 < int(value) < 2**31):
            raise InvalidArgument(f"{where}: expected a number from 1 on")
        return int(value)

    def _quotas(self, rows: Iterable[tuple[str, Any]]) -> dict[ClientQuotaEntity, dict[str, float]]:
        quotas: dict[ClientQuotaEntity, dict[str, float]] = {}
        for where, row in rows:
            if not isinstance(row, dict):
                raise InvalidArgument(f"{where}: expected {', '.join(ENTITY_PARTS)}, and quotas")
            names = {part: parse_entity_name(row[part]) for part in ENTITY_PARTS if part in row}
            entity = ClientQuotaEntity(**names)
            if not names or entity in quotas:
                problem = "the entity appears twice" if names else f"expected {' or '.join(ENTITY_PARTS)}"
                raise InvalidArgument(f"{where}: {problem}")
            quotas[entity] = {
                key: self._quota(f"{where}: {key}", value) for key, value in row.items() if key not in ENTITY_PARTS
            }
        return quotas

    def _quota(self, where: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not isfinite(number):
            raise InvalidArgument(f"{where}: expected a number")
        return number

    def _mechanisms(self, where: str, value: Any) -> frozenset[ScramMechanismName]:
        if not isinstance(value, list) or not value or not all(name in MECHANISMS for name in value):
            raise InvalidArgument(
                f"{where}: expected a list of mechanisms ({', '.join(MECHANISMS)}); a password has no place in a file: "
                "set it with `kafka users set`"
            )
        return frozenset(MECHANISMS[name] for name in value)
