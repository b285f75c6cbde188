"""The file of sinks: YAML with a list of sinks, their receivers, and their filters.

| key | type of sink | meaning |
|---|---|---|
| `type` | all | `webhook`, `alertmanager`, `slack`, `topic`, or `python` |
| `name` | all | the name of the ledger; by default it follows from the receiver |
| `url`, `headers`, `token_file` | `webhook` | `WebhookSink`; a relative file is beside the file of sinks |
| the same, `resolve_timeout` | `alertmanager` | `AlertmanagerSink` |
| the same, `template` | `slack` | `WebhookSink` with the template of a `MessagePayload` |
| `topic`, `bootstrap`, `settings` | `topic` | `KafkaTopicSink` with settings of librdkafka |
| `function` | `python` | `module:function` |
| `kinds`, `severities`, `clusters`, `topics` | all | `IncidentFilter`; without kinds and severities, `TROUBLE` |

Nodes of YAML are read instead of values, since they have lines. Errors show no value that may be a secret.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kwire.errors import KwireError
from kwire.protocol import Endpoint
from kwire_pipeline.gold.diagnosis.incident import IncidentKind
from kwire_pipeline.sinks.notice import Severity
from kwire_pipeline.sinks.payloads import MESSAGE, MessagePayload, alertmanager_payload
from kwire_pipeline.sinks.sink import load_callable
from kwire_pipeline.sinks.subscription import TROUBLE, IncidentFilter, Subscription
from kwire_pipeline.sinks.webhook import RESOLVE_TIMEOUT, AlertmanagerSink, WebhookSink

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from yaml.nodes import Node

    from kwire_pipeline.sinks.notice import IncidentNotice
    from kwire_pipeline.sinks.sink import IncidentSink

    Build: TypeAlias = Callable[[Mapping[str, Node], str | None, Path], IncidentSink]

_COMMON = frozenset({"type", "name", "kinds", "severities", "clusters", "topics"})


class InvalidSinksFile(KwireError, ValueError):
    """A file of sinks has mistakes.

    Args:
        mistakes: one text for each, with the path and the line.
    """

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__(mistakes)
        self.mistakes = mistakes

    def __str__(self) -> str:
        return "\n".join(self.mistakes)


class _Mistake(Exception):
    """A mistake at a node."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.line: int = node.start_mark.line + 1


def read_sinks(path: Path) -> list[Subscription]:
    """Return the sinks of a file.

    Raises:
        InvalidSinksFile: it cannot be read, or has mistakes.
    """
    mistakes: list[str] = []
    subscriptions: list[Subscription] = []
    lines: dict[str, int] = {}
    try:
        entries = _list(_mapping(_compose(path), {"sinks"}, {"sinks"})["sinks"])
    except _Mistake as mistake:
        raise InvalidSinksFile([f"{path}:{mistake.line}: {mistake}"]) from None
    for entry in entries:
        try:
            subscription = _read_sink(entry, path.parent)
            name = subscription.sink.name
            if name in lines:
                raise _Mistake(entry, f"expected another receiver or name than the sink in line {lines[name]}")
        except _Mistake as mistake:
            mistakes.append(f"{path}:{mistake.line}: {mistake}")
        else:
            lines[name] = entry.start_mark.line + 1
            subscriptions.append(subscription)
    if mistakes:
        raise InvalidSinksFile(mistakes)
    return subscriptions


def _compose(path: Path) -> Node:
    import yaml

    # The texts of PyYAML's errors may show a part of the file, which may be a secret.
    try:
        document = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except OSError as error:
        raise InvalidSinksFile([f"cannot read {path}: {error.strerror}"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise InvalidSinksFile([f"{path}:{line}: not valid YAML"]) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise InvalidSinksFile([f"{path}:1: not a file of YAML in UTF-8"]) from None
    if document is None:
        raise InvalidSinksFile([f"{path}:1: expected sinks, found nothing"])
    return document


@contextmanager
def _mistakes_at(node: Node) -> Iterator[None]:
    """Let a `ValueError` be a mistake at a node."""
    try:
        yield
    except ValueError as error:
        raise _Mistake(node, str(error)) from None


def _read_sink(node: Node, folder: Path) -> Subscription:
    http = {"headers", "token_file"}
    types: Mapping[str, tuple[Collection[str], Collection[str], Build]] = {
        "webhook": ({"url"}, http, _http),
        "alertmanager": ({"url"}, {*http, "resolve_timeout"}, _http),
        "slack": ({"url"}, {*http, "template"}, _http),
        "topic": ({"topic", "bootstrap"}, {"settings"}, _topic),
        "python": ({"function"}, (), _function),
    }
    values = _mapping(node, {"type"}, None)
    required, optional, build = types[_one_of(values["type"], types)]
    values = _mapping(node, {"type", *required}, {*_COMMON, *required, *optional})
    name = None
    if "name" in values:
        name = _text(values["name"])
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name) or name == "metrics":
            raise _Mistake(values["name"], "expected letters, digits, '.', '_', and '-', and not 'metrics'")
    filter = _read_filter(values)
    with _mistakes_at(node):
        return Subscription(build(values, name, folder), filter)


def _read_filter(values: Mapping[str, Node]) -> IncidentFilter:
    def texts(key: str, allowed: Collection[str] | None = None) -> tuple[str, ...]:
        nodes = _list(values[key]) if key in values else ()
        return tuple(_text(node) if allowed is None else _one_of(node, allowed) for node in nodes)

    kinds, severities = texts("kinds", [*IncidentKind]), texts("severities", [*Severity])
    if not kinds and not severities:
        severities = tuple(TROUBLE.severities)
    return IncidentFilter(kinds, severities, texts("clusters"), texts("topics"))


def _http(values: Mapping[str, Node], name: str | None, folder: Path) -> WebhookSink:
    """Return a receiver of HTTP, after a webhook has accepted each of its options."""
    url, token_file = _text(values["url"]), None
    with _mistakes_at(values["url"]):
        WebhookSink(url)
    nodes = _mapping(values["headers"], (), None) if "headers" in values else {}
    headers = {key: _text(node) for key, node in nodes.items()}
    for key, node in nodes.items():
        with _mistakes_at(node):
            WebhookSink(url, headers={key: headers[key]})
    if "token_file" in values:
        token_file = folder / _text(values["token_file"])
        with _mistakes_at(values["token_file"]):
            WebhookSink(url, headers=headers, token_file=token_file)
    if values["type"].value == "alertmanager":
        timeout = _resolve_timeout(values["resolve_timeout"]) if "resolve_timeout" in values else RESOLVE_TIMEOUT
        return AlertmanagerSink(url, headers=headers, token_file=token_file, resolve_timeout=timeout, name=name)
    payload: Callable[[IncidentNotice], Any] = alertmanager_payload
    if values["type"].value == "slack":
        with _mistakes_at(values.get("template", values["type"])):
            payload = MessagePayload(_text(values["template"]) if "template" in values else MESSAGE)
    return WebhookSink(url, headers=headers, token_file=token_file, payload=payload, name=name)


def _resolve_timeout(node: Node) -> float:
    match = re.fullmatch(r"([1-9][0-9]{0,5})(s|m|h)", _text(node))
    if match is None:
        raise _Mistake(node, "expected a duration such as 5m, as in the configuration of Alertmanager")
    return int(match[1]) * {"s": 1.0, "m": 60.0, "h": 3600.0}[match[2]]


def _topic(values: Mapping[str, Node], name: str | None, folder: Path) -> IncidentSink:
    from kwire_pipeline.sinks.kafka_topic import KafkaTopicSink, invalid_settings

    bootstrap = _text(values["bootstrap"])
    with _mistakes_at(values["bootstrap"]):
        Endpoint.parse_all(bootstrap)
    nodes = _mapping(values["settings"], (), None) if "settings" in values else {}
    settings = {key: _text(node) for key, node in nodes.items()}
    settings |= {key: str(folder / text) for key, text in settings.items() if key.endswith(".location")}
    try:
        if reason := invalid_settings(settings):
            named = [node for key, node in nodes.items() if key in reason]
            raise _Mistake([*named, values["settings"]][0], reason)
        return KafkaTopicSink(bootstrap, _text(values["topic"]), settings, name)
    except ImportError:
        raise _Mistake(values["type"], "a topic needs confluent_kafka: pip install 'kwire[kafka]'") from None


def _function(values: Mapping[str, Node], name: str | None, _: Path) -> IncidentSink:
    with _mistakes_at(values["function"]):
        return load_callable(_text(values["function"]), name)


def _mapping(node: Node, required: Collection[str], allowed: Collection[str] | None) -> dict[str, Node]:
    """Return the values of a mapping by key; None allows any key."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise _Mistake(node, "expected keys with values")
    values: dict[str, Node] = {}
    for key_node, value in node.value:
        key = _text(key_node)
        if allowed is not None and key not in allowed:
            raise _Mistake(key_node, f"unknown key {key!r}: expected one of {', '.join(sorted(allowed))}")
        if key in values:
            raise _Mistake(key_node, f"the key {key!r} appears twice")
        values[key] = value
    for key in sorted(required):
        if key not in values:
            raise _Mistake(node, f"expected the key {key!r}")
    return values


def _list(node: Node) -> list[Node]:
    import yaml

    if not isinstance(node, yaml.SequenceNode) or not node.value:
        raise _Mistake(node, "expected a list with at least one item")
    return list(node.value)


def _text(node: Node) -> str:
    import yaml

    if not isinstance(node, yaml.ScalarNode) or not node.value or node.tag == "tag:yaml.org,2002:null":
        raise _Mistake(node, "expected a text")
    return str(node.value)


def _one_of(node: Node, allowed: Collection[str]) -> str:
    text = _text(node)
    if text not in allowed:
        raise _Mistake(node, f"unknown value {text!r}: expected one of {', '.join(allowed)}")
    return text
