"""`kafka configs audit`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted, time_text
from kwire.client.admin import ConfigResource
from kwire_admin.operations.config_journal import read_journal
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.resources import name_resource


@dataclass(frozen=True, slots=True)
class ConfigAudit:
    """A change of a setting, or of a topic.

    Attributes:
        at: time of the change.
        author: the maker: the principal, the client id, and the address, or in a journal, the user and the machine.
        node: the node that wrote it; None in a journal.
        resource: the change, such as `broker/default`, `topic/orders`, `users/alice`, or `features`.
        name: the name of the setting; of a topic also `topic_id`, `partitions`, `replicas`, or `leaders`.
        old: its value before; None if it was not set.
        new: its value after; None if it was deleted.
        outcome: `made`, `refused` with the reason, or `unknown` after an interrupt.
    """

    at: str
    author: str
    node: int | None
    resource: str
    name: str
    old: str | None
    new: str | None
    outcome: str


@operation(nothing="No change is recorded.", examples=("configs audit --newest 20", "configs audit --topic orders"))
async def audit(
    run: Run,
    newest: Annotated[int, Option("How many changes to list.", "N", minimum=0, maximum=2**31 - 1)] = 100,
    topic: Annotated[str | None, Option("Only changes of this topic.", "NAME", "topics")] = None,
) -> Rows[ConfigAudit]:
    """List who changed which settings and topics, oldest first.

    Nodes of kwire record all changes of configs of brokers, ACLs, and credentials, and requests that create, alter, or
    delete topics, reassign partitions, elect preferred leaders, or update features. Kafka records nothing. There, it is
    the journal of `configs apply`, `set`, and `delete` of the user on this machine.
    """
    rows = await (_of_nodes(run, newest, topic) if run.admin.dialect == "kip4" else _of_journal(run, topic))
    return [*rows[max(len(rows) - newest, 0) :]]


async def _of_nodes(run: Run, newest: int, topic: str | None) -> list[ConfigAudit]:
    return [
        ConfigAudit(
            time_text(recorded_config_change.timestamp_ms, "T").replace("Z", "+00:00"),
            recorded_config_change.author,
            recorded_config_change.node_id,
            name_resource(recorded_config_change.resource)
            if isinstance(recorded_config_change.resource, ConfigResource)
            else recorded_config_change.resource,
            recorded_config_change.name,
            recorded_config_change.old,
            recorded_config_change.new,
            "made",
        )
        for recorded_config_change in await run.admin.recorded_config_changes(newest, topic=topic)
    ]


async def _of_journal(run: Run, topic: str | None) -> list[ConfigAudit]:
    entries, damaged = read_journal((await run.admin.describe_cluster()).cluster_id)
    if damaged:
        run.warn(f"{counted(damaged, 'line')} of the journal cannot be read, cut off by a full disk or a crash.")
    rows = []
    for entry in entries:
        for change in entry.changes:
            if topic is not None and change.resource != f"topic/{topic}":
                continue
            reason = None if entry.refused is None else entry.refused.get(change.resource)
            outcome = "unknown" if entry.refused is None else "made" if reason is None else f"refused: {reason}"
            rows.append(ConfigAudit(entry.at, entry.author, None, *change, outcome))
    return rows
