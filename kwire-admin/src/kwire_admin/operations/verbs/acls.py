"""`kafka acls`."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from kwire._util.concurrency import gather
from kwire._util.json_document import parse_json_document, unique_keys
from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire._util.readable import counted
from kwire.client.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminError,
    PatternType,
    ResourceType,
)
from kwire_admin.operations.acl_resources import (
    PRINCIPAL,
    RESOURCE,
    RESOURCES,
    AclChange,
    Resource,
    acl_change,
    acl_of_row,
    check_operations,
    parse_principals,
    parse_resource,
)
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Choice, Danger, InvalidArgument, Option, read_argument
from kwire_admin.operations.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilters:
    """The options that select ACLs: an ACL matches if it matches one value of each option that is given."""

    resources: Annotated[
        list[str],
        Argument("ACLs of these, such as topic:orders or group.", "TYPE:NAME", "acl-resources", syntax=RESOURCES),
    ] = field(default_factory=list)
    principal: Annotated[
        list[str], Option("ACLs of this principal, such as User:alice.", "TYPE:NAME", "principals", syntax=PRINCIPAL)
    ] = field(default_factory=list)
    operation: Annotated[list[AclOperation], Option("ACLs of this operation.", "OPERATION", excludes=("ANY",))] = field(
        default_factory=list
    )
    host: Annotated[list[str], Option("ACLs of this host; '*' only finds those of any host.", "HOST")] = field(
        default_factory=list
    )
    permission_type: Annotated[AclPermissionType, Option("ACLs that allow or deny.")] = AclPermissionType.ANY
    pattern_type: Annotated[PatternType, Option("Literal or prefixed ACLs; MATCH finds all that apply to a name.")] = (
        PatternType.ANY
    )

    def filters(self) -> list[AclBindingFilter]:
        """Return the filters for the options."""
        named = [parse_resource(resource) for resource in self.resources] or [Resource(ResourceType.ANY, None)]
        principals: list[str | None] = [*parse_principals(self.principal)]
        hosts: list[str | None] = [*self.host]
        return [
            AclBindingFilter(
                resource_type=resource.type,
                resource_name=resource.name,
                pattern_type=self.pattern_type,
                principal=principal,
                host=host,
                operation=operation,
                permission_type=self.permission_type,
            )
            for resource, principal, operation, host in product(
                named, principals or [None], self.operation or [AclOperation.ANY], hosts or [None]
            )
        ]


@operation(
    nothing="No ACLs.",
    examples=(
        "acls list",
        "acls list topic:orders --pattern-type MATCH",
        "acls list --principal User:alice -o json",
    ),
)
async def list_(run: Run, selected: AclFilters) -> Rows[AclBinding]:
    """List ACLs."""
    answers = await gather(*map(run.admin.describe_acls, selected.filters()))
    return [*sorted(frozenset().union(*answers))]


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
    run: Run, selected: AclFilters, all: Annotated[bool, Option("All ACLs of the cluster.")] = False
) -> Rows[AclChange]:
    """Delete the ACLs that match all filters, and wait until no broker reports them."""
    filters = selected.filters()
    if filters == [AclBindingFilter()] and not all:  # a second barrier, for callers that do not check the choice
        raise InvalidArgument("name a resource, a principal, or another option; --all deletes all ACLs of the cluster")
    matching = sorted(frozenset[AclBinding]().union(*await gather(*map(run.admin.describe_acls, filters))))
    if not matching:
        run.warn("no ACL matches: nothing is deleted.")
    rows: Rows[AclChange] = []
    matching = await delete_acls(run, matching, rows, validate_only=True)
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


@operation(
    Danger.CHANGES,
    dangers={"prune": Danger.DESTROYS},
    waits=True,
    nothing="The document has no ACLs.",
    examples=(
        "acls apply acls.json --dry-run",
        "acls apply acls.json --prune --yes",
    ),
)
async def apply(
    run: Run,
    file: Annotated[Path, Argument("The rows of `acls list` in JSON, changed.", "FILE", document=True)],
    prune: Annotated[
        bool, Option("Delete other ACLs of the resources in the document. Other resources stay as they are.")
    ] = False,
) -> Rows[AclChange]:
    """Add the ACLs of a document, and wait until every broker reports them.

    Repeating it after an interrupt completes it. ACLs are added before others are deleted.
    """
    document = read_acls(file)
    rows: Rows[AclChange] = []
    new = await acls_to_add(run, document, rows)
    surplus: list[AclBinding] = []
    if prune:
        resources = {_pattern(acl) for acl in document}
        others = set(await run.admin.describe_acls()).difference(document)
        unnamed = sorted(acl for acl in others if _pattern(acl) in resources)
        surplus = await delete_acls(run, unnamed, rows, validate_only=True)
    planned = [acl_change(acl, "would be added") for acl in new]
    planned += [acl_change(acl, "would be deleted") for acl in surplus]
    if run.dry_run:
        return [*rows, *planned]
    if surplus:
        run.show_plan(planned)
        shown = "; ".join(map(str, surplus[:3])) + ("; ..." if len(surplus) > 3 else "")
        run.confirm(f"Add {counted(len(new), 'ACL')}, and delete {len(surplus)} not in {file} ({shown})?")
    added = await add_acls(run, new, rows)
    deleted: list[AclBinding] = []
    if len(added) == len(new):  # otherwise, a deletion could leave a user without access
        deleted = await delete_acls(run, surplus, rows)
    if (added or deleted) and run.wait:
        await run.admin.wait_until_acls(created=added, deleted=deleted, timeout=run.wait, on_progress=run.on_progress)
    return rows


def _pattern(acl: AclBinding) -> tuple[ResourceType, str, PatternType]:
    return acl.resource_type, acl.resource_name, acl.pattern_type


def read_acls(file: Path) -> list[AclBinding]:
    """Return the ACLs of a document, each once.

    Raises:
        InvalidArgument: the file cannot be read, or is not what `acls list` prints, or an ACL is invalid.
    """
    text = read_argument(file)
    try:
        rows = parse_json_document(text, object_pairs_hook=unique_keys)
    except ValueError as error:
        raise InvalidArgument(f"{file}: {error}") from None
    if not isinstance(rows, list):
        raise InvalidArgument(f"{file}: expected a list of ACLs, as `acls list --output json` prints it")
    return list(dict.fromkeys(acl_of_row(f"{file}: ACL {number}", row) for number, row in enumerate(rows, 1)))


async def acls_to_add(run: Run, acls: Sequence[AclBinding], rows: Rows[AclChange]) -> list[AclBinding]:
    """Return the ACLs that do not exist, and that the cluster would accept.

    Brokers accept an ACL that exists as if it were new.
    """
    checked = await run.admin.create_acls(acls, validate_only=True)
    rows += [acl_change(acl, "exists") for acl in acls if str(acl) in checked.unchanged]
    rows += [Failure(item, error) for item, error in checked.errors.items()]
    return [acl for acl in acls if str(acl) not in checked.unchanged and checked[str(acl)] is None]


async def add_acls(run: Run, acls: Sequence[AclBinding], rows: Rows[AclChange]) -> list[AclBinding]:
    """Add ACLs, and return the added ones."""
    if not acls:
        return []
    outcomes = await run.admin.create_acls(acls)
    added = [acl for acl in acls if outcomes[str(acl)] is None]
    rows += [acl_change(acl, "added") for acl in added]
    rows += [Failure(item, error) for item, error in outcomes.errors.items()]
    return added


async def delete_acls(
    run: Run, acls: Sequence[AclBinding], rows: Rows[AclChange], *, validate_only: bool = False
) -> list[AclBinding]:
    """Delete ACLs, or check which ones the cluster would delete, and return the accepted ones."""
    if not acls:
        return []
    filters = [acl.exact_filter() for acl in acls]
    results = await run.admin.delete_acls(filters, validate_only=validate_only)
    deleted: list[AclBinding] = []
    for acl, result in zip(acls, results.values(), strict=True):
        error = result if isinstance(result, AdminError) else result.get(acl)
        if error is None:
            deleted.append(acl)
        else:
            rows.append(Failure(str(acl), error))
    rows += [acl_change(acl, "deleted") for acl in deleted if not validate_only]
    return deleted
