"""`kafka acls add`."""

from __future__ import annotations

from itertools import product

from kwire._util.light_typing import Annotated
from kwire.client.admin import AclBinding, AclOperation, AclPermissionType, PatternType
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.acl_changes import acls_to_add, add_acls
from kwire_admin.operations.verbs.acl_resources import (
    PRINCIPAL,
    RESOURCE,
    AclChange,
    acl_change,
    check_operations,
    parse_principals,
    parse_resource,
)


@operation(
    Danger.CHANGES,
    waits=True,
    examples=(
        "acls add topic:orders group:billing --principal User:alice --operation READ",
        "acls add topic:audit- --prefixed --principal User:bob --operation WRITE --operation DESCRIBE",
        "acls add cluster --principal User:carol --operation ALTER --deny",
    ),
)
async def add(
    run: Run,
    resources: Annotated[
        list[str],
        Argument(
            "The resources, such as topic:orders, topic:*, or cluster.",
            "TYPE:NAME",
            "acl-resources",
            syntax=RESOURCE,
            item="resource",
        ),
    ],
    principal: Annotated[
        list[str],
        Option("A principal, such as User:alice.", "TYPE:NAME", "principals", syntax=PRINCIPAL, item="principal"),
    ],
    operation: Annotated[
        list[AclOperation],
        Option("An operation, such as READ.", "OPERATION", excludes=("ANY",), item="operation"),
    ],
    host: Annotated[list[str], Option("The address of clients [default: any].", "HOST")] = [],
    prefixed: Annotated[bool, Option("The names are prefixes of names.")] = False,
    deny: Annotated[bool, Option("Deny the operations, which overrides every permission.")] = False,
) -> Rows[AclChange]:
    """Add ACLs, and wait until every broker reports them. An ACL that exists already stays as it is."""
    named = [parse_resource(RESOURCE.match(resource).string) for resource in resources]
    for resource in named:
        check_operations(resource.type, operation)
    acls = [
        AclBinding(
            resource_type=resource.type,
            resource_name=resource.name or "",
            pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
            principal=who,
            host=where,
            operation=what,
            permission_type=AclPermissionType.DENY if deny else AclPermissionType.ALLOW,
        )
        for resource, who, where, what in product(named, parse_principals(principal), host or ["*"], operation)
    ]
    rows: Rows[AclChange] = []
    new = await acls_to_add(run, acls, rows)
    if run.dry_run:
        return [*rows, *(acl_change(acl, "would be added") for acl in new)]
    added = await add_acls(run, new, rows)
    if added and run.wait:
        await run.admin.wait_until_acls(created=added, timeout=run.wait, on_progress=run.on_progress)
    return rows
