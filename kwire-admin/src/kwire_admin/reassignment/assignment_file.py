"""Reassignments in the JSON form of Kafka's `kafka-reassign-partitions`.

    {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}]}

A file that kwire writes has one more member, `kwire`, with the replicas that the plan started from. Kafka's own tool
ignores it. Without it, a plan cannot be compared with the present assignment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire.client.admin.group_values import TopicPartition
from kwire_admin.reassignment.errors import InvalidAssignment

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
MEMBER = "kwire"


@dataclass(frozen=True, slots=True)
class AssignmentFile:
    """The content of a file.

    Attributes:
        targets: the new replicas by partition, the preferred leader first.
        previous: the replicas that the plan started from; empty if the file does not contain them.
        cluster_id: the id of the cluster that the plan is for; None if the file does not contain it.
    """

    targets: Mapping[TopicPartition, tuple[int, ...]]
    previous: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    cluster_id: str | None = None

    def to_json(self) -> str:
        """Return the text of the file, one partition a line."""
        partitions = ",\n".join(json.dumps(_entry(key, ids)) for key, ids in sorted(self.targets.items()))
        text = f'{{"version": {VERSION}, "partitions": [\n{partitions}\n]'
        if self.previous or self.cluster_id is not None:
            previous = ",\n".join(json.dumps([*key, list(ids)]) for key, ids in sorted(self.previous.items()))
            text += f',\n"{MEMBER}": {{"cluster_id": {json.dumps(self.cluster_id)}, "previous": [\n{previous}\n]}}'
        return text + "}\n"

    @classmethod
    def from_json(cls, text: str) -> AssignmentFile:
        """Return the content for the text of a file.

        Raises:
            InvalidAssignment: the text is not a reassignment. The error names the entry and the expected shape.
        """
        try:
            document = parse_json_document(text)
        except MalformedJson as error:
            raise InvalidAssignment(f"expected JSON: {error}") from None
        if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
            raise InvalidAssignment('expected {"version": 1, "partitions": [...]}')
        if document.get("version", VERSION) != VERSION:
            raise InvalidAssignment(f"version {document['version']!r} is not supported: expected {VERSION}")
        targets: dict[TopicPartition, tuple[int, ...]] = {}
        for index, entry in enumerate(document["partitions"]):
            key, replicas = _parse(entry, index)
            if key in targets:
                raise InvalidAssignment(f"entry {index} of partitions: {key} is named twice")
            targets[key] = replicas
        if not targets:
            raise InvalidAssignment("the list of partitions is empty")
        previous, cluster_id = _parse_member(document.get(MEMBER, {}))
        return cls(targets, previous, cluster_id)


def _entry(key: TopicPartition, replicas: tuple[int, ...]) -> dict[str, Any]:
    return {
        "topic": key.topic,
        "partition": key.partition,
        "replicas": list(replicas),
        "log_dirs": ["any"] * len(replicas),
    }


def _parse(entry: Any, index: int) -> tuple[TopicPartition, tuple[int, ...]]:
    where = f"entry {index} of partitions"
    if not isinstance(entry, dict):
        raise InvalidAssignment(f"{where}: expected an object, got {_shown(entry)}")
    topic, partition, replicas = (entry.get(name) for name in ("topic", "partition", "replicas"))
    if not isinstance(topic, str) or not topic:
        raise InvalidAssignment(f"{where}: expected the name of a topic, got {_shown(topic)}")
    if not isinstance(partition, int) or not _is_id(partition):
        raise InvalidAssignment(f"{where}: expected the index of a partition, got {_shown(partition)}")
    key = TopicPartition(topic, partition)
    if not isinstance(replicas, list) or not replicas or not all(map(_is_id, replicas)):
        raise InvalidAssignment(f"{where}: expected the broker ids of {key}, got {_shown(replicas)}")
    if len(set(replicas)) != len(replicas):
        raise InvalidAssignment(f"{where}: {key} has two replicas on one broker: {_shown(replicas)}")
    directories = entry.get("log_dirs")
    if directories is not None:
        if not isinstance(directories, list) or len(directories) != len(replicas):
            raise InvalidAssignment(f"{where}: expected one of log_dirs for each replica, got {_shown(directories)}")
        if any(directory != "any" for directory in directories):
            raise InvalidAssignment(f'{where}: log_dirs other than "any" are not supported: move directories apart')
    return key, tuple(replicas)


def _parse_member(member: Any) -> tuple[dict[TopicPartition, tuple[int, ...]], str | None]:
    try:
        previous = {TopicPartition(topic, index): tuple(ids) for topic, index, ids in member.get("previous", ())}
        cluster_id = member.get("cluster_id")
    except (AttributeError, TypeError, ValueError):
        raise InvalidAssignment(f'the member "{MEMBER}" has the wrong shape: remove it, or plan again') from None
    return previous, cluster_id


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
