"""`kafka brokers unregister`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, check_command


@operation(Danger.DESTROYS, dialects=("kafka",), examples=("brokers unregister 3 --yes",))
async def unregister(
    run: Run,
    broker: Annotated[int, Argument("Id of a broker that is gone for good.", "ID", minimum=0, maximum=2**31 - 1)],
) -> Rows[ItemChange]:
    """Remove the registration of a broker that is gone for good from a KRaft cluster."""
    registered = await run.admin.registered_brokers()
    live = {broker.id for broker in (await run.admin.describe_cluster()).brokers}
    if broker in live:
        raise Conflict(f"broker {broker} is running: stop it before you unregister it")
    if registered is not None and broker not in registered:
        return [Failure(str(broker), AdminError.of_kafka(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker}"))]
    if registered is None and run.dry_run:
        run.warn("brokers before Kafka 4.0 do not report which brokers are registered, so that it was not checked.")
    if run.dry_run:
        await check_command(run, "UnregisterBrokerRequest")
        return [ItemChange(str(broker), "would be unregistered", 1)]
    run.confirm(f"Unregister broker {broker}?")
    await run.admin.unregister_broker(broker)
    return [ItemChange(str(broker), "unregistered", 1)]
