"""`kafka configs`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated, TypeAlias
from kwire._util.readable import counted, time_text
from kwire._util.similar_names import did_you_mean
from kwire.client.admin import AdminError, ConfigChange, ConfigResource, ConfigResourceType
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, NotFound, Option
from kwire_admin.operations.resources import RESOURCE, ConfigsChanged, name_resource, parse_resource
from kwire_admin.operations.run import Run

Resource: TypeAlias = Annotated[
    str, Argument("topic/NAME, broker/ID, broker/default, group/ID.", "RESOURCE", "resources", syntax=RESOURCE)
]


@dataclass(frozen=True, slots=True)
class Config:
    """A config of a resource.

    Attributes:
        resource: the resource, such as `topic/orders`.
        name: the name of the config.
        value: its value; None if it is secret or not set.
        source: source of the value, such as `topic`, `static`, or `default`.
        sensitive: true if it is a secret, which brokers never return.
        read_only: true if it cannot be changed while the broker runs.
    """

    resource: str
    name: str
    value: str | None
    source: str
    sensitive: bool
    read_only: bool


@operation(
    nothing="No configs.",
    examples=("configs get topic/orders", "configs get broker/1 --all", "configs get topic/orders retention.ms"),
)
async def get(
    run: Run,
    resource: Resource,
    names: Annotated[list[str], Argument("Names of configs [default: all that are set].", "NAME", "configs")],
    all: Annotated[bool, Option("Include defaults, and what a topic inherits from its brokers.")] = False,
) -> Rows[Config]:
    """Get the configs of a resource, with where their values come from."""
    parsed = parse_resource(resource)
    configs = (await run.admin.describe_configs([parsed]))[parsed]
    if isinstance(configs, AdminError):
        return [Failure(resource, configs)]
    # The drafts of KIP-4 report only what a topic overrides, so any other name may be valid there.
    for name in names if run.admin.dialect == "kafka" else ():
        if name not in configs:
            raise NotFound(f"{resource} has no config {name!r}{did_you_mean(name, tuple(configs))}")
    # The file of a broker sets values; for a topic, they are inherited.
    inherited = ("DEFAULT",) if parsed.type is ConfigResourceType.BROKER else ("DEFAULT", "STATIC")
    return [
        Config(
            resource,
            name,
            value.value,
            value.source.name.lower().replace("_", "-"),
            value.is_sensitive,
            value.is_read_only,
        )
        for name, value in sorted(configs.items())
        if (name in names if names else all or value.source.name not in inherited)
    ]


@operation(Danger.DESTROYS, examples=("configs delete topic/orders retention.ms",))
async def delete(
    run: Run,
    resource: Resource,
    names: Annotated[list[str], Argument("Names of configs.", "NAME", "configs", item="config")],
) -> Rows[ConfigsChanged]:
    """Reset configs of a resource to what it inherits."""
    from kwire_admin.operations.config_changes import change_configs

    parsed = parse_resource(resource)
    if not run.dry_run:
        run.confirm(f"Delete {', '.join(names)} of {parsed}?")
    return await change_configs(run, parsed, ConfigChange(delete=names), "deleted")


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
    from kwire_admin.operations.config_journal import read_journal  # its imports take long

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
