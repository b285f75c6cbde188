"""The tool `acls`: access control lists, changed through any node. The audit of `config` has the changes.

`list` reads ZooKeeper; `list --applied` returns the entries that this node has taken over from there, if it has an
authorizer. An entry that cannot be read is listed with an `error`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from kwire.authorization.acl_authorizer import AclOperation, ResourcePattern
from kwire.authorization.acl_entries import CLUSTER_NAME, PATTERN_TYPES, RESOURCE_TYPES, AclEntry
from kwire_admin.operations.declaration import NODE, Need, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option
from kwire_cluster.config.stored_acls import change_acls
from kwire_cluster.zookeeper.acls import ResourceAcls
from kwire_cluster.zookeeper.errors import NotAuthorized, ZnodeError
from kwire_zookeeper_tools.children import check_child, data_of, read_children
from kwire_zookeeper_tools.tool_run import NodeRun

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from kwire_cluster.zookeeper.store import Store

OPERATIONS = tuple(
    operation.camel_case
    for operation in AclOperation
    if operation.code > AclOperation.ANY.code and operation is not AclOperation.TWO_PHASE_COMMIT
)
"""The operations of Kafka 3.9, the last version with ZooKeeper, as it writes them."""


class NamePattern(StrEnum):
    """The kinds of names of resources."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


ResourceType = Annotated[str, Argument(f"One of {', '.join(RESOURCE_TYPES)}.", "TYPE")]
ResourceName = Annotated[str, Argument(f"{CLUSTER_NAME} for the cluster, * for all of the type.", "NAME")]
Principal = Annotated[str, Argument("Such as User:alice.", "PRINCIPAL")]
OperationName = Annotated[str, Argument(f"One of {', '.join(OPERATIONS)}.", "OPERATION")]
Pattern = Annotated[NamePattern, Option("The kind of the name.")]
Host = Annotated[str, Option("Only connections from this address [default: *].", "HOST")]
Deny = Annotated[bool, Option("Deny instead of allow.")]


@operation(runs_on=NODE, needs={Need.ZOOKEEPER}, time_limit=None)
async def list_(
    run: NodeRun, applied: Annotated[bool, Option("Only entries that this node has taken over.")] = False
) -> None:
    """Print all entries."""
    authorizer = run.services.authorizer
    if applied and authorizer is not None:
        rows = [row for pattern, entries in authorizer.entries().items() for row in _rows(pattern, entries)]
    else:
        rows = [row async for row in _stored_rows(run.store)]
    await run.print_json(rows)


@operation(Danger.CHANGES, runs_on=NODE, needs={Need.ZOOKEEPER}, time_limit=None)
async def add(
    run: NodeRun,
    resource_type: ResourceType,
    resource_name: ResourceName,
    principal: Principal,
    operation: OperationName,
    pattern: Pattern = NamePattern.LITERAL,
    host: Host = "*",
    deny: Deny = False,
) -> None:
    """Add an entry."""
    if operation not in OPERATIONS:
        raise InvalidArgument(f"{operation[:100]!r} is not an operation: expected one of {', '.join(OPERATIONS)}")
    entry = _entry(principal, operation, host, deny)
    await _change(run, _pattern(resource_type, resource_name, pattern), add=[entry])


@operation(Danger.CHANGES, runs_on=NODE, needs={Need.ZOOKEEPER}, time_limit=None)
async def remove(
    run: NodeRun,
    resource_type: ResourceType,
    resource_name: ResourceName,
    principal: Principal,
    operation: OperationName,
    pattern: Pattern = NamePattern.LITERAL,
    host: Host = "*",
    deny: Deny = False,
) -> None:
    """Remove an entry. Its operation may be one that this version does not know."""
    entry = _entry(principal, operation, host, deny)
    await _change(run, _pattern(resource_type, resource_name, pattern), remove=[entry])


@operation(
    runs_on=NODE,
    examples=("list", "add Topic orders User:alice Read --pattern prefixed"),
    commands=(list_, add, remove),
)
async def acls(run: NodeRun) -> None:
    """List, add, and remove entries of access control lists."""


def _pattern(resource_type: str, name: str, pattern_type: NamePattern) -> ResourcePattern:
    """Return a resource, or raise InvalidArgument."""
    known_type = next((known for known in RESOURCE_TYPES if known == resource_type), None)
    if known_type is None:
        types = ", ".join(RESOURCE_TYPES)
        raise InvalidArgument(f"{resource_type[:100]!r} is not a type of resources: expected one of {types}")
    check_child(name, ResourceAcls.path("Topic", name), "a resource")
    if known_type == "Cluster" and (name, pattern_type) != (CLUSTER_NAME, NamePattern.LITERAL):
        raise InvalidArgument(f"the only resource of the type Cluster is the literal name {CLUSTER_NAME}")
    return ResourcePattern(known_type, name, pattern_type.value)


def _entry(principal: str, operation: str, host: str, deny: bool) -> AclEntry:
    kind, colon, name = principal.partition(":")
    if not (kind and colon and name):
        raise InvalidArgument(f"expected <type>:<name>, found {principal[:100]!r}")
    return AclEntry(principal, "Deny" if deny else "Allow", operation, host)


async def _change(
    run: NodeRun, pattern: ResourcePattern, add: Iterable[AclEntry] = (), remove: Iterable[AclEntry] = ()
) -> None:
    """Change the entries of a resource, and print the new ones."""
    entries = await change_acls(
        run.store,
        pattern.resource_type,
        pattern.name,
        pattern.pattern_type,
        add=[*add],
        remove=[*remove],
        author=run.caller.author,
        node_id=run.services.settings.id,
    )
    await run.print_json(_rows(pattern, entries))


async def _stored_rows(store: Store) -> AsyncIterator[dict[str, str]]:
    for pattern_type in PATTERN_TYPES:
        for resource_type in RESOURCE_TYPES:
            parent = ResourceAcls.path(resource_type, "x", pattern_type).rpartition("/")[0]
            async for name, znode in read_children(store, parent):
                pattern = ResourcePattern(resource_type, name, pattern_type)
                # An unreadable znode is a row: the other lists stay visible, and the error says which one to repair.
                try:
                    entries = ResourceAcls.decode(data_of(znode), f"{parent}/{name}").acls
                except (ZnodeError, NotAuthorized) as error:
                    yield _named(pattern) | {"error": str(error)}
                    continue
                for row in _rows(pattern, entries):
                    yield row


def _rows(pattern: ResourcePattern, entries: Iterable[AclEntry] | None) -> list[dict[str, str]]:
    """Return a row for each entry of a resource. With None, they cannot be read."""
    if entries is None:
        return [_named(pattern) | {"error": "the znode cannot be read, so only super users may use the resource"}]
    return [
        _named(pattern)
        | {
            "principal": entry.principal,
            "host": entry.host,
            "operation": entry.operation,
            "permission_type": entry.permission_type,
        }
        for entry in entries
    ]


def _named(pattern: ResourcePattern) -> dict[str, str]:
    return {
        "resource_type": pattern.resource_type,
        "resource_name": pattern.name,
        "pattern_type": pattern.pattern_type,
    }
