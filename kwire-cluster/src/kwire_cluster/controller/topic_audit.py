"""The difference of two states of a topic, as the audit shows it.

Created and deleted topics differ from None. The texts are bounded, because the entries of a whole batch are kept in
ZooKeeper, which holds all of its data in memory.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire.uuids import uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cluster.controller.topic_state import Topic

MAX_LISTED = 200
"""Maximum number of partitions listed in a text. Chosen, not measured."""
MAX_TEXT = 4_000
"""Maximum length of a text in characters: enough for `MAX_LISTED` partitions with three replicas."""


def topic_changes(before: Topic | None, after: Topic | None) -> dict[str, tuple[str | None, str | None]]:
    """Return the differences, as texts before and after.

    The names are `topic_id` of a created or deleted topic, `partitions` (their number), `replicas` of the partitions
    with other target replicas, `leaders` of the partitions with other leaders, and those of the changed configs.
    """
    if before is after:
        return {}
    changes: dict[str, tuple[str | None, str | None]] = {}
    if before is None or after is None:
        changes["topic_id"] = _id(before), _id(after)
    else:
        leaders = {partition.id: (partition.leader,) for partition in before.partitions}
        elected = {partition.id: (partition.leader,) for partition in after.partitions if partition.id in leaders}
        changes["leaders"] = _difference(leaders, elected)
    changes["partitions"] = _count(before), _count(after)
    changes["replicas"] = _difference(_replicas(before), _replicas(after))
    old, new = (topic.config if topic is not None else {} for topic in (before, after))
    for name in sorted(old.keys() | new.keys()):
        changes[name] = _bounded(old.get(name)), _bounded(new.get(name))
    return {name: (was, now) for name, (was, now) in changes.items() if was != now or old.get(name) != new.get(name)}


def _id(topic: Topic | None) -> str | None:
    if topic is None:
        return None
    return "(unknown)" if topic.topic_id is None else uuid_to_text(topic.topic_id)


def _count(topic: Topic | None) -> str | None:
    return str(len(topic.partitions)) if topic is not None and topic.partitions else None


def _replicas(topic: Topic | None) -> Mapping[int, Sequence[int]]:
    if topic is None:
        return {}
    if not topic.reassignments:  # of nearly all topics
        return {partition.id: partition.replicas for partition in topic.partitions}
    return {partition.id: topic.target_replicas(partition) for partition in topic.partitions}


def _difference(old: Mapping[int, Sequence[int]], new: Mapping[int, Sequence[int]]) -> tuple[str | None, str | None]:
    if not old or not new:  # created or deleted
        return _brokers(old, [*old]), _brokers(new, [*new])
    changed = [index for index in sorted(old.keys() | new.keys()) if old.get(index) != new.get(index)]
    return _brokers(old, changed), _brokers(new, changed)


def _brokers(by_partition: Mapping[int, Sequence[int]], partitions: Sequence[int]) -> str | None:
    """Return the brokers of partitions, as in `0: 1,2; 1: 2,3`."""
    listed = [index for index in partitions if index in by_partition]
    texts = [f"{index}: {','.join(map(str, by_partition[index]))}" for index in islice(listed, MAX_LISTED)]
    if len(listed) > MAX_LISTED:
        texts.append(f"and {counted(len(listed) - MAX_LISTED, 'more partition')}")
    return _bounded("; ".join(texts)) if texts else None


def _bounded(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 4]} ..."
