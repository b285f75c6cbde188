"""The audit as a history of topics: its entries, applied one after another, lead to the topics that ZooKeeper has.

An entry without its change breaks the chain, because the next entry starts from another value than it left, or because
the last one does not lead to what ZooKeeper has. So does a change without its entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_cluster.config.audit import AuditEntry

__all__ = ["AuditedTopic", "check_replay", "partitions_of"]


class AuditedTopic(NamedTuple):
    """A topic as the audit knows it: the target replicas of its partitions, and its configs."""

    replicas: Mapping[int, tuple[int, ...]]
    configs: Mapping[str, str]


def partitions_of(text: str | None) -> dict[int, tuple[int, ...]]:
    """Return the brokers by partition of a text such as `0: 1,2; 1: 2,3`."""
    parts = [part.split(": ") for part in text.split("; ")] if text else []
    return {int(index): tuple(map(int, brokers.split(","))) for index, brokers in parts}


def check_replay(entries: Iterable[AuditEntry], topics: Mapping[str, AuditedTopic]) -> None:
    """Check that entries, oldest first, lead to these topics, which are all topics of the entries that exist."""
    replayed: dict[str, AuditedTopic] = {}
    ids: dict[str, str] = {}
    for entry in entries:
        kind, _, name = entry.entity.partition("/")
        if kind == "topics":
            _apply(entry, name, replayed, ids)
    assert replayed == topics


def _apply(entry: AuditEntry, name: str, replayed: dict[str, AuditedTopic], ids: dict[str, str]) -> None:
    changes = dict(entry.changes)
    assert changes, entry
    changes.pop("leaders", None)  # those of a failure have no entry
    old_id, new_id = changes.pop("topic_id", (ids.get(name), ids.get(name)))
    assert old_id == ids.get(name), entry
    now = replayed.pop(name, AuditedTopic({}, {}))
    old_count, new_count = changes.pop("partitions", (None, None))
    old, new = map(partitions_of, changes.pop("replicas", (None, None)))
    assert old.items() <= now.replicas.items(), entry
    replicas = {index: brokers for index, brokers in now.replicas.items() if index not in old} | new
    if (old_count, new_count) != (None, None):
        counts = tuple(None if count is None else int(count) for count in (old_count, new_count))
        assert counts == (len(now.replicas) or None, len(replicas) or None), entry
    configs = dict(now.configs)
    for key, (before, after) in changes.items():
        assert configs.pop(key, None) == before, entry
        if after is not None:
            configs[key] = after
    if new_id is None:
        assert (replicas, configs) == ({}, {}), entry
        ids.pop(name, None)
    else:
        ids[name] = new_id
        replayed[name] = AuditedTopic(replicas, configs)
