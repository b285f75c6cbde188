"""`kafka brokers unregister`."""

from __future__ import annotations

from typing import Annotated

from kwire.verbs.changes import Change, InvalidArgument
from kwire.verbs.verb import Argument, Danger, Rows, Run, verb


@verb(Danger.DESTROYS, dialects=("kafka",), examples=("brokers unregister 3 --yes",))
async def unregister(
    run: Run, broker: Annotated[int, Argument("Id of a broker that is gone for good.", "ID")]
) -> Rows[Change]:
    """Remove the registration of a broker that is gone for good from a KRaft cluster."""
    live = {each.id for each in (await run.admin.describe_cluster()).brokers}
    if broker in live:
        raise InvalidArgument(f"broker {broker} is running: stop it before you unregister it")
    if run.dry_run:
        return [Change(str(broker), "would be unregistered", 1)]
    run.confirm(f"Unregister broker {broker}?")
    await run.admin.unregister_broker(broker)
    return [Change(str(broker), "unregistered", 1)]
