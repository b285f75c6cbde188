"""`kafka brokers`."""

from __future__ import annotations

from collections import Counter

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire.client.admin import AdminError, TopicDescription
from kwire_admin.operations.changes import ItemChange
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.visibility import explain_if_hidden, warn_of_unanswered

if TYPE_CHECKING:
    from kwire.protocol.negotiated_versions import Dialect


@dataclass(frozen=True, slots=True)
class BrokerSummary:
    """A live broker.

    Attributes:
        broker: its id.
        host: its host.
        port: its port.
        rack: its rack; None if it has none.
        controller: true if it is the active controller; None if no broker names it.
        leaders: number of partitions that it leads, of topics that the user may describe; None if no topic is visible,
            and there can be some.
        replicas: number of replicas, like `leaders`.
    """

    broker: int
    host: str
    port: int
    rack: str | None
    controller: bool | None
    leaders: int | None
    replicas: int | None


@operation(lists="brokers", examples=("brokers list",))
async def list_(run: Run) -> Rows[BrokerSummary]:
    """List the live brokers with their numbers of leaders and replicas."""
    cluster = await run.admin.describe_cluster()
    controller = await run.admin.active_controller()
    topics = await run.admin.describe_topics()
    partitions = [
        partition for topic in topics.values() if isinstance(topic, TopicDescription) for partition in topic.partitions
    ]
    hidden = await explain_if_hidden(run, len(topics), "topics", done="counted")
    if hidden is not None:
        run.warn(f"{hidden}: leaders and replicas are not known.")
    leaders = Counter(partition.leader for partition in partitions)
    replicas = Counter(replica for partition in partitions for replica in partition.replicas)
    return [
        BrokerSummary(
            *broker,
            None if controller is None else broker.id == controller,
            None if hidden is not None else leaders[broker.id],
            None if hidden is not None else replicas[broker.id],
        )
        for broker in sorted(cluster.brokers, key=lambda broker: broker.id)
    ]


@dataclass(frozen=True, slots=True)
class ServedApi:
    """An API of a broker.

    Attributes:
        broker: the id of the broker.
        key: the API key.
        api: the name of the API; None if kwire does not know it.
        lowest: the lowest version that the broker serves.
        highest: the highest version that the broker serves.
        used: the version that kwire uses; None if they have none in common.
    """

    broker: int
    key: int
    api: str | None
    lowest: int
    highest: int
    used: int | None


@operation(
    nothing="All brokers serve the same versions.",
    examples=("brokers api-versions", "brokers api-versions 1", "brokers api-versions --different"),
)
async def api_versions(
    run: Run,
    brokers: Annotated[
        list[int], Argument("Ids of brokers [default: all live ones].", "ID", "brokers", minimum=0, maximum=2**31 - 1)
    ],
    different: Annotated[bool, Option("Only APIs that these brokers do not serve in the same versions.")] = False,
) -> Rows[ServedApi]:
    """Show the versions of each API that brokers serve, and the version that kwire uses."""
    unanswered: dict[int, Exception] = {}
    served = await run.admin.describe_api_versions(brokers, unanswered=unanswered)
    warn_of_unanswered(run, "API versions", unanswered)
    names, supported = known_apis(run.admin.dialect)
    rows: Rows[ServedApi] = []
    for key in sorted({key for ranges in served.values() for key in ranges}):
        if different and len({ranges.get(key) for ranges in served.values()}) == 1:
            continue
        for broker, ranges in sorted(served.items()):
            if key in ranges:
                lowest, highest = ranges[key]
                common = supported.get(key, set()).intersection(range(lowest, highest + 1))
                rows.append(ServedApi(broker, key, names.get(key), lowest, highest, max(common, default=None)))
    return rows


def known_apis(dialect: Dialect) -> tuple[dict[int, str], dict[int, set[int]]]:
    """Return the names and the versions of the APIs that kwire knows, by API key."""
    from kwire.messages import every  # imports the classes of all messages

    names: dict[int, str] = {}
    supported: dict[int, set[int]] = {}
    for message in every(dialect):
        if message.api_key >= 0 and message.__kwire_response__ is not None:
            name = message.__name__.partition("_")[0].removesuffix("Request")
            names.setdefault(message.api_key, name)  # the newest name comes first
            versions = range(message.versions.lowest, message.versions.highest + 1)
            supported.setdefault(message.api_key, set()).update(versions)
    return names, supported


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
