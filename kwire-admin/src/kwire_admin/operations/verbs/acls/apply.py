"""`kafka acls apply`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.json_document import parse_json_document, unique_keys
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire._util.text_files import read_text
from kwire.client.admin import AclBinding, PatternType, ResourceType
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.acl_changes import acls_to_add, acls_to_delete, add_acls, delete_acls
from kwire_admin.operations.verbs.acl_resources import AclChange, acl_change, acl_of_row


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
        surplus = await acls_to_delete(run, sorted(acl for acl in others if _pattern(acl) in resources), rows)
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
    try:
        rows = parse_json_document(read_text(file), object_pairs_hook=unique_keys)
    except OSError as error:
        raise InvalidArgument(f"cannot read {file}: {error.strerror}") from None
    except ValueError as error:
        raise InvalidArgument(f"{file}: {error}") from None
    if not isinstance(rows, list):
        raise InvalidArgument(f"{file}: expected a list of ACLs, as `acls list --output json` prints it")
    return list(dict.fromkeys(acl_of_row(f"{file}: ACL {number}", row) for number, row in enumerate(rows, 1)))
