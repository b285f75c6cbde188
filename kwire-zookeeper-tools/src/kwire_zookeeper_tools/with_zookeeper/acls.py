"""`kafka-acls --authorizer-properties zookeeper.connect=HOST:PORT`: the znodes that brokers with ZooKeeper read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kwire.authorization.acl_entries import CLUSTER_NAME, AclEntry
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import Script, ScriptRefused
from kwire_admin.compat.scripts.acls import ONE_ACTION, acls
from kwire_cluster.config.stored_acls import change_acls
from kwire_cluster.zookeeper.acls import ResourceAcls
from kwire_cluster.zookeeper.errors import NoNode
from kwire_zookeeper_tools.offsets.consumer_offsets import child_names
from kwire_zookeeper_tools.with_zookeeper import tool_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.authorization.acl_entries import ResourceType
    from kwire_admin.compat.script import ScriptRun
    from kwire_cluster.zookeeper import Store

    Resource = tuple[ResourceType, str]

PROPERTY = "zookeeper.connect"
OPERATIONS = ("Read", "Write", "Create", "Delete", "Alter", "Describe", "ClusterAction", "All")
"""The operations of Kafka 0.9 and 0.10."""

AUTHORIZERS = ("kafka.security.auth.SimpleAclAuthorizer", "kafka.security.authorizer.AclAuthorizer")
"""The authorizers that read their ACLs from ZooKeeper."""


async def run(run: ScriptRun) -> None:
    """List or change ACLs.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptRefused: a principal has another form.
    """
    values = run.values
    values.need("authorizer-properties")
    values.one_action(ONE_ACTION)
    _check(run)
    authorizer = values.get("authorizer") or AUTHORIZERS[0]
    if authorizer not in AUTHORIZERS:
        raise ScriptRefused(
            f"{authorizer} is not available: only {' and '.join(AUTHORIZERS)}, which have the same znodes"
        )
    properties = dict(text.partition("=")[::2] for text in values.all("authorizer-properties"))
    hosts = properties.get(PROPERTY)
    if hosts is None:
        raise ScriptUsageError(f"--authorizer-properties must have {PROPERTY}=HOST:PORT")
    store = await tool_run(run, hosts).zookeeper()
    entries = _entries(run)
    if "add" in values:
        await _add(run, store, entries)
    elif "remove" in values and not await _remove(run, store, entries):
        return
    await _list(run, store, _resources(run))


def _check(run: ScriptRun) -> None:
    values = run.values
    if "list" in values:
        return
    if not any(name in values for name in ("topic", "group", "cluster")):
        raise ScriptUsageError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group>"
        )
    principals = [*values.all("allow-principal"), *values.all("deny-principal")]
    if "add" in values and not principals:
        raise ScriptUsageError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    for principal in principals:
        if not all(principal.partition(":")):
            raise ScriptRefused(f"expected a string in format principalType:principalName but got {principal}")


def _resources(run: ScriptRun) -> list[Resource]:
    values = run.values
    resources: list[Resource] = [("Topic", name.strip()) for name in values.all("topic")]
    if "cluster" in values:
        resources.append(("Cluster", CLUSTER_NAME))
    return resources + [("Group", name.strip()) for name in values.all("group")]


def _operations(run: ScriptRun, type: ResourceType) -> list[str]:
    values = run.values
    if "producer" in values or "consumer" in values:
        of_role: dict[str, dict[str, list[str]]] = {
            "producer": {"Topic": ["Write", "Describe"], "Cluster": ["Create"]},
            "consumer": {"Topic": ["Read", "Describe"], "Group": ["Read"]},
        }
        listed = [operation for role, of in of_role.items() if role in values for operation in of.get(type, [])]
        return [*dict.fromkeys(listed)]
    by_name = {name.lower(): name for name in OPERATIONS}
    try:
        return [by_name[text.strip().lower()] for text in values.all("operation")] or ["All"]
    except KeyError as error:
        raise ScriptRefused(f"{error.args[0]} not a valid operation name.") from None


def _entries(run: ScriptRun) -> dict[Resource, list[AclEntry]]:
    """Return the entries that the options describe, by resource. Producers may also create topics."""
    cluster: list[Resource] = [("Cluster", CLUSTER_NAME)] if "producer" in run.values else []
    return {
        resource: [
            AclEntry(principal, permission.title(), operation, host)
            for permission in ("allow", "deny")
            for principal in run.values.all(f"{permission}-principal")
            for host in run.values.all(f"{permission}-host") or ["*"]
            for operation in _operations(run, resource[0])
        ]
        for resource in dict.fromkeys([*_resources(run), *cluster])
    }


async def _add(run: ScriptRun, store: Store, entries: dict[Resource, list[AclEntry]]) -> None:
    for resource, added in entries.items():
        _print(run, "Adding ACLs", resource, added)
        await change_acls(store, *resource, "literal", add=added, author=None, node_id=-1)


async def _remove(run: ScriptRun, store: Store, entries: dict[Resource, list[AclEntry]]) -> bool:
    """Remove entries, all of a resource if the options describe none, and return whether the user agreed."""
    for resource, described in entries.items():
        existing = await _read(store, resource)
        removed = described or existing
        if "force" not in run.values:
            listed = "\n".join(map(_text, removed))
            what = f"ACLs: \n {listed} \n from" if described else "all ACLs for"
            verb = "remove" if described else "delete"
            print(f"Are you sure you want to {verb} {what} resource `{':'.join(resource)}`? (y/n)")
            if sys.stdin.readline().strip().lower() != "y":
                return False
        await change_acls(store, *resource, "literal", remove=removed, author=None, node_id=-1)
    return True


async def _read(store: Store, resource: Resource) -> list[AclEntry]:
    path = ResourceAcls.path(*resource)
    try:
        return [*ResourceAcls.decode((await store.get(path)).data, path).acls]
    except NoNode:
        return []


async def _list(run: ScriptRun, store: Store, resources: list[Resource]) -> None:
    if not resources:
        types: tuple[ResourceType, ...] = ("Topic", "Group", "Cluster")
        roots = {type: ResourceAcls.path(type, "").rstrip("/") for type in types}
        resources = [(type, name) for type, root in roots.items() for name in await child_names(store, root)]
    for resource in resources:
        _print(run, "Current ACLs", resource, await _read(store, resource))


def _text(entry: AclEntry) -> str:
    return (
        f"\t{entry.principal} has {entry.permission_type} permission for operations: {entry.operation} "
        f"from hosts: {entry.host}"
    )


def _print(run: ScriptRun, title: str, resource: Resource, entries: Iterable[AclEntry]) -> None:
    listed = "\n".join(map(_text, entries))
    run.print(f"{title} for resource `{':'.join(resource)}`: \n {listed} \n")


script = Script(
    "kafka-acls",
    ("kafka.admin.AclCommand",),
    (
        ScriptOption("authorizer", "The authorizer: SimpleAclAuthorizer or AclAuthorizer.", "class"),
        ScriptOption("authorizer-properties", "REQUIRED: the ZooKeeper as zookeeper.connect=HOST:PORT.", "properties"),
        *acls.chosen_options("list", "add", "remove", "force", "topic", "group", "cluster", "operation"),
        *acls.chosen_options("allow-principal", "deny-principal", "allow-host", "deny-host", "producer", "consumer"),
    ),
    run,
    acls.failure,
    banner='Missing required argument "[authorizer-properties]"',
    codes=dict.fromkeys(("0.9.0.1", "0.10.2.2"), -1),
)
