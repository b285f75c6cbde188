"""`kafka brokers unregister`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange


@operation(Danger.DESTROYS, dialects=("kafka",), examples=("brokers unregister 3 --yes",))
async def unregister(
    run: Run,
    broker: Annotated[int, Argument("Id of a broker that is gone for good.", "ID", minimum=0, maximum=2**31 - 1)],
) -> Rows[ItemChange]:
    """Remove the registration of a broker that is gone for good from a KRaft cluster."""
    live = {broker.id for broker in (await run.admin.describe_cluster()).brokers}
    if broker in live:
        raise Conflict(f"broker {broker} is running: stop it before you unregister it")
    try:
        await run.admin.unregister_broker(broker, validate_only=True)
    except AdminError as error:
        return [Failure(str(broker), error)]
    if run.dry_run:
        if await run.admin.registered_brokers() is None:
            run.warn("brokers before Kafka 4.0 do not report which brokers are registered, so that it was not checked.")
        return [ItemChange(str(broker), "would be unregistered", 1)]
    run.confirm(f"Unregister broker {broker}?")
    await run.admin.unregister_broker(broker)
    return [ItemChange(str(broker), "unregistered", 1)]
