"""The tool `config`: the global configuration manager of KAFKA-1694 in Admin requests.

Results are JSON. Exit status: 0 done, 1 failed, 2 invalid arguments, settings, or values, 4 another writer has changed
the same settings meanwhile. Each topic that a command shows or changes requires the permission that a request for it
alone requires.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.authorization.requirement import Requirement
from kwire_admin.operations.declaration import NODE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option, parse_configs
from kwire_cluster.config.setting import SettingError
from kwire_cluster.config.stored_configs import ConfigConflict
from kwire_cluster.node.settings.config_manager import ConfigManager
from kwire_cluster.node.tools import DESCRIBE
from kwire_zookeeper_tools.tool_run import NodeRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CONFLICT = 4
MAX_ID = 2**31 - 1
"""The highest id of a broker."""

DESCRIBE_CLUSTER = Permission(AclOperation.DESCRIBE_CONFIGS, "Cluster")
DESCRIBE_TOPIC = Permission(AclOperation.DESCRIBE_CONFIGS, "Topic")

Names = Annotated[list[str], Argument("Settings [default: all].", "NAME")]
Broker = Annotated[int | None, Option("One broker [default: every broker].", "ID")]
Topic = Annotated[str | None, Option("A topic, in place of brokers.", "NAME")]
IfVersion = Annotated[int | None, Option("Only if this is still the version of the settings.", "VERSION")]
DryRun = Annotated[bool, Option("Check the change, and make none.")]
Document = Annotated[list[str], Argument("The output of export, changed; in parts of at most 32,767 bytes.", "JSON")]


def _requires_describe(values: Mapping[str, Any]) -> Sequence[Requirement]:
    del values
    return (Requirement(DESCRIBE_CLUSTER),)


def _requires_alter(values: Mapping[str, Any]) -> Sequence[Requirement]:
    """Return the permission to alter the settings of the topic, or else of the cluster."""
    topic = values["topic"]
    if topic is None:
        return (Requirement(Permission(AclOperation.ALTER_CONFIGS, "Cluster")),)
    return (Requirement(Permission(AclOperation.ALTER_CONFIGS, "Topic"), topic),)


def _requires_for_document(values: Mapping[str, Any]) -> Sequence[Requirement]:
    """Return the permissions for the topics of a document, and for the cluster if it has anything else.

    Raises:
        InvalidArgument: the document is not JSON.
    """
    is_change = not values.get("dry_run", True)
    operation = AclOperation.ALTER_CONFIGS if is_change else AclOperation.DESCRIBE_CONFIGS
    document = _parse(values["document"])
    topics = document.get("topics") if isinstance(document, dict) else None
    names = list(topics) if isinstance(topics, dict) else []
    has_others = not names or document.keys() != {"topics"}
    cluster = [Requirement(Permission(operation, "Cluster"))] if has_others else []
    return [*cluster, *(Requirement(Permission(operation, "Topic"), topic) for topic in names)]


@operation(runs_on=NODE, requires=_requires_describe)
async def describe(run: NodeRun, names: Names) -> None:
    """Print the effective settings of this node, and their layers."""
    with _errors():
        await run.print_json(ConfigManager(run.services, run.caller).describe(names))


@operation(Danger.CHANGES, runs_on=NODE, needs={Need.ZOOKEEPER}, requires=_requires_alter, time_limit=None)
async def set_(
    run: NodeRun,
    assignments: Annotated[list[str], Argument("Settings and their values.", "NAME=VALUE")],
    broker: Broker = None,
    topic: Topic = None,
    if_version: IfVersion = None,
    dry_run: DryRun = False,
    delete: Annotated[list[str], Option("Delete this setting in the same change.", "NAME")] = [],
) -> None:
    """Set settings."""
    if not assignments:
        raise InvalidArgument("expected at least one NAME=VALUE")
    changes: dict[str, str | None] = dict.fromkeys(delete)
    changes |= {name.strip(): value.strip() for name, value in parse_configs(assignments).items()}
    await _change(run, changes, broker, topic, if_version, dry_run)


@operation(Danger.CHANGES, runs_on=NODE, needs={Need.ZOOKEEPER}, requires=_requires_alter, time_limit=None)
async def delete(
    run: NodeRun,
    names: Annotated[list[str], Argument("Settings.", "NAME")],
    broker: Broker = None,
    topic: Topic = None,
    if_version: IfVersion = None,
    dry_run: DryRun = False,
) -> None:
    """Delete settings, so that those of the next layer apply."""
    if not names:
        raise InvalidArgument("expected at least one NAME")
    await _change(run, dict.fromkeys(names), broker, topic, if_version, dry_run)


@operation(runs_on=NODE, needs={Need.ZOOKEEPER}, requires=_requires_describe, time_limit=None)
async def export(run: NodeRun) -> None:
    """Print the settings that are stored for all brokers and topics."""
    with _errors():
        await run.print_json(await ConfigManager(run.services, run.caller).export(partial(_may_describe, run)))


@operation(runs_on=NODE, needs={Need.ZOOKEEPER}, requires=_requires_for_document, time_limit=None)
async def diff(run: NodeRun, document: Document) -> None:
    """Print the changes that apply would make."""
    with _errors():
        changes = await ConfigManager(run.services, run.caller).diff(_parse(document))
        await run.print_json([change.to_json() for change in changes])


@operation(Danger.CHANGES, runs_on=NODE, needs={Need.ZOOKEEPER}, requires=_requires_for_document, time_limit=None)
async def apply(run: NodeRun, document: Document, dry_run: DryRun = False) -> None:
    """Change the settings to those of a document."""
    manager = ConfigManager(run.services, run.caller)
    with _errors():
        changes = await (manager.diff if dry_run else manager.apply)(_parse(document))
        await run.print_json([change.to_json() for change in changes])


@operation(runs_on=NODE, needs={Need.ZOOKEEPER}, requires=_requires_describe, time_limit=None)
async def audit(
    run: NodeRun,
    newest: Annotated[int, Option("Maximum number of changes.", "N")] = 100,
    topic: Annotated[str | None, Option("Only changes of this topic.", "NAME")] = None,
) -> None:
    """Print the newest changes of settings, ACLs, credentials, and topics, oldest first."""
    if newest < 0:
        raise InvalidArgument(f"--newest: expected an integer of 0 or more, found {newest}")
    with _errors():
        await run.print_json(
            await ConfigManager(run.services, run.caller).audit(newest, partial(_may_describe, run), topic)
        )


@operation(
    runs_on=NODE,
    examples=(
        "describe num.partitions",
        "set num.partitions=3 --broker 1",
        "audit --newest 10",
        "audit --topic orders",
    ),
    commands=(describe, set_, delete, export, diff, apply, audit),
)
async def config(run: NodeRun) -> None:
    """Describe, set, delete, export, diff, and apply settings of brokers and topics; audit lists changes."""


async def _change(
    run: NodeRun,
    changes: dict[str, str | None],
    broker: int | None,
    topic: str | None,
    if_version: int | None,
    dry_run: bool,
) -> None:
    manager = ConfigManager(run.services, run.caller)
    if broker is not None and not 0 <= broker <= MAX_ID:
        raise InvalidArgument(f"--broker: expected an integer of 0 to {MAX_ID}, found {str(broker)[:100]}")
    if topic is not None and broker is not None:
        raise InvalidArgument("--broker and --topic exclude each other")
    if topic is not None and (if_version is not None or dry_run):
        raise InvalidArgument("--if-version and --dry-run are for settings of brokers")
    with _errors():
        if topic is not None:
            result = await manager.change_topic(topic, changes)
        elif dry_run:
            result = await manager.check(changes, broker)
        else:
            result = await manager.change(changes, broker=broker, if_version=if_version)
        await run.print_json(result)


@contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of the configuration manager as those of tools, with their exit status."""
    try:
        yield
    except SettingError as error:
        raise InvalidArgument(str(error)) from None
    except ConfigConflict as error:
        raise ToolFailed(str(error), CONFLICT) from None


def _may_describe(run: NodeRun, entity: str) -> bool:
    """Return whether a user may see the settings of an entity, such as `topics/orders`, and who has changed them."""
    kind, _, name = entity.partition("/")
    if kind == "topics":
        return run.caller.allows(DESCRIBE_TOPIC, name)
    return run.caller.allows(DESCRIBE_CLUSTER if kind == "brokers" else DESCRIBE)


def _parse(parts: Sequence[str]) -> Any:
    """Return the JSON document of an argument. An argument holds at most 32,767 bytes, so it may come in parts.

    Raises:
        InvalidArgument: it is not JSON.
    """
    if not parts:
        raise InvalidArgument("expected a document")
    try:
        return parse_json_document("".join(parts))
    except MalformedJson as error:
        raise InvalidArgument(f"the document is not JSON: {error}") from None
