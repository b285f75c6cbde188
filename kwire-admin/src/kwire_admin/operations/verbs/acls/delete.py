"""`kafka acls delete`."""

from __future__ import annotations

from kwire._util.concurrency import gather
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire.client.admin import AclBinding, AclBindingFilter, AclOperation, AclPermissionType, PatternType
from kwire_admin.operations.argument_checks import Choice
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.acl_changes import acls_to_delete, delete_acls
from kwire_admin.operations.verbs.acl_resources import PRINCIPAL, RESOURCES, AclChange, acl_change, parse_filters


@operation(
    Danger.DESTROYS,
    choices=(
        # A run without a filter would delete all ACLs.
        Choice(("resources", "principal", "operation", "host", "permission_type", "pattern_type", "all"), most=None),
    ),
    waits=True,
    nothing="No ACLs match.",
    examples=(
        "acls delete --principal User:alice --dry-run",
        "acls delete topic:orders --principal User:alice --operation READ --yes",
    ),
)
async def delete(
    run: Run,
    resources: Annotated[
        list[str],
        Argument("ACLs of these, such as topic:orders or group.", "TYPE:NAME", "acl-resources", syntax=RESOURCES),
    ],
    principal: Annotated[
        list[str], Option("ACLs of this principal, such as User:alice.", "TYPE:NAME", "principals", syntax=PRINCIPAL)
    ] = [],
    operation: Annotated[list[AclOperation], Option("ACLs of this operation.", "OPERATION", excludes=("ANY",))] = [],
    host: Annotated[list[str], Option("ACLs of this host; '*' only finds those of any host.", "HOST")] = [],
    permission_type: Annotated[AclPermissionType, Option("ACLs that allow or deny.")] = AclPermissionType.ANY,
    pattern_type: Annotated[
        PatternType, Option("Literal or prefixed ACLs; MATCH finds all that apply to a name.")
    ] = PatternType.ANY,
    all: Annotated[bool, Option("All ACLs of the cluster.")] = False,
) -> Rows[AclChange]:
    """Delete the ACLs that match all filters, and wait until no broker reports them."""
    filters = parse_filters(resources, principal, operation, host, permission_type, pattern_type)
    if filters == [AclBindingFilter()] and not all:  # a second barrier, for callers that do not check the choice
        raise InvalidArgument("name a resource, a principal, or another option; --all deletes all ACLs of the cluster")
    matching = sorted(frozenset[AclBinding]().union(*await gather(*map(run.admin.describe_acls, filters))))
    if not matching:
        run.warn("no ACL matches: nothing is deleted.")
    rows: Rows[AclChange] = []
    matching = await acls_to_delete(run, matching, rows)
    planned = [acl_change(acl, "would be deleted") for acl in matching]
    if run.dry_run or not matching:
        return [*rows, *planned]
    shown = "; ".join(map(str, matching[:3])) + ("; ..." if len(matching) > 3 else "")
    run.show_plan(planned)
    run.confirm(f"Delete {counted(len(matching), 'ACL')} ({shown})?")
    # What was confirmed is deleted, and nothing that was created meanwhile.
    deleted = await delete_acls(run, matching, rows)
    if deleted and run.wait:
        await run.admin.wait_until_acls(deleted=deleted, timeout=run.wait, on_progress=run.on_progress)
    return rows
