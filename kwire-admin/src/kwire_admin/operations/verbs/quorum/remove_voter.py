"""`kafka quorum remove-voter`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, check_command
from kwire_admin.operations.verbs.raft_voters import DIRECTORY_ID, check_dynamic, directory_of, parse_directory_id


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
    await check_dynamic(run.admin)
    if (node, id) not in {(voter.id, voter.directory_id) for voter in voters}:
        raise AdminError.of_kafka(ErrorCode.VOTER_NOT_FOUND, f"voter {node}")
    if len(voters) == 1:
        raise Conflict(f"node {node} is the only voter")
    await check_command(run, "RemoveRaftVoterRequest")
    if not run.dry_run:
        run.confirm(f"Remove node {node} from the voters?")
        await run.admin.remove_raft_voter(node, id)
    return [ItemChange(str(node), "would be removed" if run.dry_run else "removed", 1)]
