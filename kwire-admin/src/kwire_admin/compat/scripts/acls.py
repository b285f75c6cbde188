"""`kafka-acls`, with `--bootstrap-server`."""

from __future__ import annotations

import sys
from itertools import product
from typing import TYPE_CHECKING

from kwire.client.admin import AclBinding, AclBindingFilter, AclOperation, AclPermissionType, PatternType, ResourceType
from kwire.client.admin.acl_values import SUPPORTED_OPERATIONS
from kwire.terminal.questions import ask
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin import AdminClient
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

ONE_ACTION = "--list, --add, --remove. "
RESOURCES = {
    "topic": "TOPIC",
    "group": "GROUP",
    "transactional-id": "TRANSACTIONAL_ID",
    "delegation-token": "DELEGATION_TOKEN",
    "user-principal": "USER",
}


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptRefused: the cluster refused an ACL.
    """
    values = run.values
    if "bootstrap-server" not in values:
        raise ScriptUsageError("One of --bootstrap-server or --bootstrap-controller must be specified")
    values.one_action(ONE_ACTION)
    if "principal" in values and "list" not in values:  # `--remove` would delete ACLs of other principals as well
        raise ScriptUsageError("The --principal option is only available if --list is set")
    if "add" in values or "remove" in values:
        _check(values)
    _check_principals(values)
    admin = await run.admin()
    if "add" in values:
        bindings = list(_bindings(values))
        _print(run, "Adding", bindings)
        (await admin.create_acls(bindings)).raise_first()
        _print(run, "Current", await _listed(admin, values))
    elif "remove" in values:
        await _remove(run, admin)
    else:
        _print(run, "Current", await _listed(admin, values))


def _check(values: OptionValues) -> None:
    """Check the options of changes in the order in which Kafka's script does, or raise ScriptUsageError."""
    is_role = "producer" in values or "consumer" in values
    if is_role:
        for option in ("operation", "deny-principal", "deny-host"):
            values.forbid("producer" if "producer" in values else "consumer", option)
    if "producer" in values and "topic" not in values and "transactional-id" not in values:
        raise ScriptUsageError("With --producer you must specify a --topic")
    if "idempotent" in values and "producer" not in values:
        raise ScriptUsageError("The --idempotent option is only available if --producer is set")
    if "consumer" in values and (
        "topic" not in values
        or "group" not in values
        or ("producer" not in values and ("cluster" in values or "transactional-id" in values))
    ):
        raise ScriptUsageError(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option "
            "should be specified."
        )
    if not any(name in values for name in RESOURCES) and "cluster" not in values:
        raise ScriptUsageError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    if "add" in values and not values.all("allow-principal") and not values.all("deny-principal"):
        raise ScriptUsageError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    pattern = _pattern(values).value
    if "add" in values and pattern in ("ANY", "MATCH"):
        raise ScriptUsageError(f"A '--resource-pattern-type' value of '{pattern}' is not valid when adding acls.")


def _check_principals(values: OptionValues) -> None:
    """Check that principals have a type, since an ACL of another principal would never match a user.

    Raises:
        ScriptRefused: one has no type.
    """
    for principal in (*values.all("allow-principal"), *values.all("deny-principal"), *values.all("principal")):
        type, colon, _ = principal.partition(":")
        if not type or not colon:
            reason = f"expected a string in format principalType:principalName but got {principal}"
            raise ScriptRefused(reason)


def _pattern(values: OptionValues) -> PatternType:
    text = (values.get("resource-pattern-type") or "literal").upper()
    try:
        return PatternType[text]
    except KeyError:
        raise ScriptUsageError(f"Invalid resource-pattern-type: {text.lower()}") from None


def _resources(values: OptionValues) -> list[tuple[ResourceType, str]]:
    resources = [
        (ResourceType[type], text.strip()) for option, type in RESOURCES.items() for text in values.all(option)
    ]
    if "cluster" in values or "idempotent" in values:
        resources.append((ResourceType.CLUSTER, "kafka-cluster"))
    return resources


def _operations(values: OptionValues, type: ResourceType) -> list[str]:
    operations: list[str] = []
    if "producer" in values:
        operations += {
            ResourceType.TOPIC: ["WRITE", "DESCRIBE", "CREATE"],
            ResourceType.TRANSACTIONAL_ID: ["WRITE", "DESCRIBE"],
            ResourceType.CLUSTER: ["IDEMPOTENT_WRITE"] if "idempotent" in values else [],
        }.get(type, [])
    if "consumer" in values:
        operations += {ResourceType.TOPIC: ["READ", "DESCRIBE"], ResourceType.GROUP: ["READ"]}.get(type, [])
    if "producer" in values or "consumer" in values:
        return list(dict.fromkeys(operations))
    return [_operation(text) for text in values.all("operation")] or ["ALL"]


def _operation(text: str) -> str:
    names = {operation.value.replace("_", ""): operation.value for operation in AclOperation}
    return names.get(text.replace("_", "").upper(), text)


def _check_operation(type: ResourceType, operation: str) -> None:
    """Check that a resource type has an operation, or raise ScriptUsageError."""
    supported = sorted(operation.value for operation in (AclOperation.ALL, *SUPPORTED_OPERATIONS[type]))
    if operation not in supported:
        raise ScriptUsageError(f"ResourceType {type.value} only supports operations [{', '.join(supported)}]")


def _bindings(values: OptionValues) -> Iterable[AclBinding]:
    """Yield the ACLs that the options describe, or raise ScriptUsageError."""
    # One binding for each combination, as AclCommand makes them: without a host, from any.
    pattern = _pattern(values)
    rules = ((AclPermissionType.ALLOW, "allow"), (AclPermissionType.DENY, "deny"))
    for (type, name), (permission, word) in product(_resources(values), rules):
        principals, hosts = values.all(f"{word}-principal"), values.all(f"{word}-host") or ["*"]
        for principal, host, operation in product(principals, hosts, _operations(values, type)):
            _check_operation(type, operation)
            yield AclBinding(
                resource_type=type,
                resource_name=name,
                pattern_type=pattern,
                principal=principal,
                host=host,
                operation=AclOperation[operation],
                permission_type=permission,
            )


def _filters(values: OptionValues) -> list[AclBindingFilter]:
    """Return the filters of the resources, for `--list`."""
    resources = _resources(values)
    if not resources:
        return [AclBindingFilter()]
    return [
        AclBindingFilter(resource_type=type, resource_name=name, pattern_type=_pattern(values))
        for type, name in resources
    ]


async def _listed(admin: AdminClient, values: OptionValues) -> list[AclBinding]:
    matches: list[AclBinding] = []
    for filter in _filters(values):
        matches += [describe_acl for describe_acl in await admin.describe_acls(filter) if describe_acl not in matches]
    principals = values.all("principal")
    return [match_ for match_ in matches if not principals or match_.principal in principals]


async def _remove(run: ScriptRun, admin: AdminClient) -> None:
    from dataclasses import replace

    values = run.values
    if values.all("allow-principal") or values.all("deny-principal"):
        filters = [binding.exact_filter() for binding in _bindings(values)]
    elif "operation" in values:
        # Kafka's script ignores the operations here, and removes all ACLs of the resource.
        names = AclOperation.__members__
        if unknown := [text for text in values.all("operation") if _operation(text) not in names]:
            raise ScriptUsageError(f"ResourceType or operation {unknown[0]} is unknown")
        filters = [
            replace(filter, operation=AclOperation[operation])
            for filter in _filters(values)
            for operation in _operations(values, filter.resource_type)
        ]
    else:
        filters = _filters(values)
    question = "Are you sure you want to delete the ACLs of the resources? (y/n)\n"
    if "force" not in values and ask(question, sys.stdout).lower() != "y":
        return
    for deleted in (await admin.delete_acls(filters)).values():
        if isinstance(deleted, Exception):
            raise deleted
    _print(run, "Current", await _listed(admin, values))


def _print(run: ScriptRun, title: str, bindings: Iterable[AclBinding]) -> None:
    """Print ACLs by resource, in the form of Kafka's classes."""
    by_resource: dict[str, list[str]] = {}
    for binding in bindings:
        resource = (
            f"ResourcePattern(resourceType={binding.resource_type.value}, name={binding.resource_name}, "
            f"patternType={binding.pattern_type.value})"
        )
        entry = (
            f"\t(principal={binding.principal}, host={binding.host}, operation={binding.operation.value}, "
            f"permissionType={binding.permission_type.value})"
        )
        by_resource.setdefault(resource, []).append(entry)
    for resource, entries in by_resource.items():
        listed = "\n".join(entries)
        run.print(f"{title} ACLs for resource `{resource}`: \n {listed} \n")


acls = Script(
    "kafka-acls",
    ("kafka.admin.AclCommand", "org.apache.kafka.tools.AclCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("list", "List ACLs of the resources that --topic, --group, or --cluster name."),
        ScriptOption("add", "Indicates you are trying to add ACLs."),
        ScriptOption("remove", "Indicates you are trying to remove ACLs."),
        ScriptOption("force", "Assume Yes to all queries and do not prompt."),
        ScriptOption("topic", "Topic to which ACLs should be added or removed.", "topic"),
        ScriptOption("group", "Consumer Group to which the ACLs should be added or removed.", "group"),
        ScriptOption("cluster", "Add/Remove cluster ACLs."),
        ScriptOption("transactional-id", "Transactional id to which ACLs are added or removed.", "transactional-id"),
        ScriptOption("delegation-token", "Delegation token to which ACLs are added or removed.", "token"),
        ScriptOption("user-principal", "Specifies a user principal as a resource.", "user-principal"),
        ScriptOption("resource-pattern-type", "Type of the pattern of the resource.", "ANY|MATCH|LITERAL|PREFIXED"),
        ScriptOption("operation", "Operation that is being allowed or denied.", "operation"),
        ScriptOption("allow-principal", "Principal is in principalType:name format.", "allow-principal"),
        ScriptOption("deny-principal", "Principal is in principalType:name format.", "deny-principal"),
        ScriptOption("allow-host", "Host from which --allow-principal has access.", "host"),
        ScriptOption("deny-host", "Host from which --deny-principal has no access.", "host"),
        ScriptOption("principal", "List ACLs for the specified principal.", "principal"),
        ScriptOption("producer", "Convenience option to add/remove ACLs for producer role."),
        ScriptOption("consumer", "Convenience option to add/remove ACLs for consumer role."),
        ScriptOption("idempotent", "Enable idempotence for the producer."),
    ),
    run,
    "Error while executing ACL command: ",
    names_exceptions=True,
)
