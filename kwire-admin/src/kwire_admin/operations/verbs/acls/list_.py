"""`kafka acls list`."""

from __future__ import annotations

from kwire._util.concurrency import gather
from kwire._util.light_typing import Annotated
from kwire.client.admin import AclBinding, AclOperation, AclPermissionType, PatternType
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.acl_resources import PRINCIPAL, RESOURCES, parse_filters


@operation(
    nothing="No ACLs.",
    examples=(
        "acls list",
        "acls list topic:orders --pattern-type MATCH",
        "acls list --principal User:alice -o json",
    ),
)
async def list_(
    run: Run,
    resources: Annotated[
        list[str],
        Argument("Only ACLs of these, such as topic:orders or group.", "TYPE:NAME", "acl-resources", syntax=RESOURCES),
    ],
    principal: Annotated[
        list[str],
        Option("Only ACLs of this principal, such as User:alice.", "TYPE:NAME", "principals", syntax=PRINCIPAL),
    ] = [],
    operation: Annotated[list[AclOperation], Option("Only ACLs of this operation.", "OPERATION")] = [],
    host: Annotated[list[str], Option("Only ACLs of this host; '*' only finds those of any host.", "HOST")] = [],
    permission_type: Annotated[AclPermissionType, Option("Only ACLs that allow or deny.")] = AclPermissionType.ANY,
    pattern_type: Annotated[
        PatternType, Option("Only literal or prefixed ACLs; MATCH finds all that apply to a name.")
    ] = PatternType.ANY,
) -> Rows[AclBinding]:
    """List ACLs."""
    filters = parse_filters(resources, principal, operation, host, permission_type, pattern_type)
    answers = await gather(*map(run.admin.describe_acls, filters))
    return [*sorted(frozenset().union(*answers))]
