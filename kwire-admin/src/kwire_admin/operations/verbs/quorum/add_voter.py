"""`kafka quorum add-voter`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange
from kwire_admin.operations.verbs.raft_voters import (
    DIRECTORY_ID,
    LISTENER,
    directory_of,
    parse_directory_id,
    parse_listeners,
)


@operation(Danger.CHANGES, dialects=("kafka",), examples=("quorum add-voter 4 --listener CONTROLLER://host-4:9093",))
async def add_voter(
    run: Run,
    node: Annotated[
        int, Argument("Node id of the controller, which must be running.", "ID", minimum=0, maximum=2**31 - 1)
    ],
    listener: Annotated[
        list[str], Option("An address of the controller.", "NAME://HOST:PORT", syntax=LISTENER, item="listener")
    ],
    directory: Annotated[
        str | None,
        Option("The id of its metadata directory [default: as the quorum reports it].", "ID", syntax=DIRECTORY_ID),
    ] = None,
) -> Rows[ItemChange]:
    """Add a controller to the voters of the KRaft quorum (KIP-853)."""
    listeners = parse_listeners(listener)
    quorum = await run.admin.describe_quorum()
    id = parse_directory_id(directory) if directory is not None else directory_of(node, quorum.observers, "observer")
    await run.admin.add_raft_voter(node, id, listeners, validate_only=True)
    if not run.dry_run:
        await run.admin.add_raft_voter(node, id, listeners)
    return [ItemChange(str(node), "would be added" if run.dry_run else "added", 1)]
