"""`kafka quorum remove-voter`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange
from kwire_admin.operations.verbs.raft_voters import DIRECTORY_ID, directory_of, parse_directory_id


@operation(Danger.DESTROYS, dialects=("kafka",), examples=("quorum remove-voter 4 --yes",))
async def remove_voter(
    run: Run,
    node: Annotated[int, Argument("Node id of the voter.", "ID", minimum=0, maximum=2**31 - 1)],
    directory: Annotated[
        str | None,
        Option("The id of its metadata directory [default: as the quorum reports it].", "ID", syntax=DIRECTORY_ID),
    ] = None,
) -> Rows[ItemChange]:
    """Remove a controller from the voters of the KRaft quorum (KIP-853)."""
    voters = (await run.admin.describe_quorum()).voters
    id = parse_directory_id(directory) if directory is not None else directory_of(node, voters, "voter")
    await run.admin.remove_raft_voter(node, id, validate_only=True)
    if not run.dry_run:
        run.confirm(f"Remove node {node} from the voters?")
        await run.admin.remove_raft_voter(node, id)
    return [ItemChange(str(node), "would be removed" if run.dry_run else "removed", 1)]
