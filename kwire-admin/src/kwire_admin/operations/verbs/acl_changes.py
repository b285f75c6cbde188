"""Changes of ACLs, checked first: what `acls add`, `apply`, and `delete` share. Each appends rows of its results."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.verbs.acl_resources import acl_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AclBinding
    from kwire_admin.operations.declaration import Rows
    from kwire_admin.operations.run import Run
    from kwire_admin.operations.verbs.acl_resources import AclChange


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


async def acls_to_delete(run: Run, acls: Sequence[AclBinding], rows: Rows[AclChange]) -> list[AclBinding]:
    """Return the ACLs that the cluster would delete."""
    return await _delete(run, acls, rows, validate_only=True)


async def delete_acls(run: Run, acls: Sequence[AclBinding], rows: Rows[AclChange]) -> list[AclBinding]:
    """Delete ACLs, and return the deleted ones."""
    deleted = await _delete(run, acls, rows, validate_only=False)
    rows += [acl_change(acl, "deleted") for acl in deleted]
    return deleted


async def _delete(
    run: Run, acls: Sequence[AclBinding], rows: Rows[AclChange], *, validate_only: bool
) -> list[AclBinding]:
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
    return deleted
