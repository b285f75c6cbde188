"""`kafka zookeeper show`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

from kwire._util.readable import counted, time_text
from kwire.client.admin import AdminClient, AdminError, ConfigResource, ConfigResourceType
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import PORT, InvalidArgument, NotFound, Option, Syntax
from kwire_admin.operations.run import Run
from kwire_cluster.zookeeper import (
    ActiveController,
    BrokerRegistration,
    ControllerEpoch,
    FeaturesZnode,
    PreferredReplicaElection,
    ReassignPartitions,
)
from kwire_cluster.zookeeper.errors import InvalidConnectString, NoNode, ZnodeError
from kwire_cluster.zookeeper.topics import DeletionMarker, TopicRegistration
from kwire_zookeeper_tools.children import data_of, read_children

if TYPE_CHECKING:
    from kwire_cluster.zookeeper import Store
    from kwire_cluster.zookeeper.admin_requests import ListedPartition

T = TypeVar("T")

LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
GROUP = "[0-9A-Fa-f]{1,4}"
SHORTENED = "|".join(f"(?:{GROUP}:){{1,{7 - after}}}(?::{GROUP}){{1,{after}}}" for after in range(1, 7))
"""IPv6 addresses with `::` between groups, by the largest number of groups after it."""
IPV6 = f"(?:{GROUP}:){{7}}{GROUP}|(?:{GROUP}:){{1,7}}:|{SHORTENED}|:(?:(?::{GROUP}){{1,7}}|:)"
SERVER = rf"(?:{LABEL}(?:\.{LABEL}){{0,9}}|\[(?:{IPV6})\])(?::{PORT})?"
CHROOT = r"(?:/[A-Za-z0-9_:@-][A-Za-z0-9_:@.-]*)*"
ZOOKEEPER = Syntax(
    f"{SERVER}(?:,{SERVER})*{CHROOT}", "the address of a ZooKeeper: write HOST:PORT,HOST:PORT or HOST:PORT/CHROOT"
)
"""Addresses as the OpenAPI document describes them. `check_hosts` decides, and takes others too."""

QUEUES = {
    "/isr_change_notification": "changes of ISRs that the controller has not taken up",
    "/log_dir_event_notification": "failures of log directories that the controller has not taken up",
}
"""Parents of znodes that the controller deletes once it has taken them up."""
CONNECT_TIMEOUT_S = 5.0
"""Seconds to wait for ZooKeeper. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class ControllerZnode:
    """A znode that the controller reads or writes.

    Attributes:
        path: its path.
        meaning: its content, in a sentence.
        blocked_by: the reason that keeps the controller from carrying it out now, such as `broker 3 is down`, or None.
    """

    path: str
    meaning: str
    blocked_by: str | None = None


async def zookeeper_of(admin: AdminClient) -> str | None:
    """Return the ZooKeeper of a cluster, as its first broker reports it; None if the broker does not.

    Raises:
        KwireError: the broker does not answer.
    """
    brokers = (await admin.describe_cluster()).brokers
    if not brokers:
        return None
    resource = ConfigResource(ConfigResourceType.BROKER, str(brokers[0].id))
    configs = (await admin.describe_configs([resource]))[resource]
    config = None if isinstance(configs, AdminError) else configs.get("zookeeper.connect")
    return None if config is None else config.value


async def open_store(run: Run, zookeeper: str | None) -> Store:
    """Open a session with the ZooKeeper of a cluster.

    Args:
        run: the run of the verb.
        zookeeper: its address; None to ask a broker.

    Raises:
        InvalidArgument: `zookeeper` is another text; the error says what to write.
        NotFound: no broker reports a ZooKeeper.
        Unreachable: no server accepts the connection.
    """
    from kwire_cluster.zookeeper import connect
    from kwire_cluster.zookeeper.connection import check_hosts

    try:
        hosts = await zookeeper_of(run.admin) if zookeeper is None else check_hosts(zookeeper)
    except InvalidConnectString as error:
        raise InvalidArgument(str(error)) from None
    if not hosts:
        raise NotFound(
            "no broker reports a ZooKeeper: a KRaft cluster has none (see `quorum describe`); otherwise name it with "
            "--zookeeper HOST:PORT"
        )
    return await connect(hosts, connect_timeout=CONNECT_TIMEOUT_S)


@operation(
    # It is needed exactly when no broker answers, and then the ZooKeeper is named.
    connects=lambda arguments: arguments["zookeeper"] is None,
    examples=("zookeeper show", "zookeeper show --zookeeper zk-1:2181,zk-2:2181/kafka"),
)
async def show(
    run: Run,
    zookeeper: Annotated[
        str | None,
        Option("The ZooKeeper of the cluster [default: as a broker reports it].", "HOST:PORT,...", syntax=ZOOKEEPER),
    ] = None,
) -> Rows[ControllerZnode]:
    """Show the controller and its pending work, as ZooKeeper has them, and what blocks this work.

    Deletions and reassignments of a cluster with ZooKeeper wait for brokers that are down or that never existed. Kafka
    does not say so.
    """
    store = await open_store(run, zookeeper)
    try:
        return [row async for row in _rows(store)]
    finally:
        await store.close()


async def _rows(store: Store) -> AsyncIterator[ControllerZnode]:
    malformed: list[ZnodeError] = []
    controller = await _read(store, ActiveController, malformed)
    epoch = await _read(store, ControllerEpoch, malformed)
    yield _controller_row(controller)
    elections = counted(0 if epoch is None else epoch.epoch, "election")
    yield ControllerZnode(ControllerEpoch.path(), f"{elections} of a controller")
    live: set[int] = set()
    async for name, znode in read_children(store, BrokerRegistration.root):
        if name.isdecimal():
            try:
                BrokerRegistration.decode(data_of(znode), BrokerRegistration.path(int(name)))
                live.add(int(name))
            except ZnodeError as error:
                malformed.append(error)
    yield ControllerZnode(BrokerRegistration.root, f"live brokers: {_listed(live)}")
    topics: dict[str, TopicRegistration] = {}
    async for name, znode in read_children(store, TopicRegistration.root):
        try:
            topics[name] = TopicRegistration.decode(data_of(znode), TopicRegistration.path(name))
        except ZnodeError as error:
            malformed.append(error)
    await _read(store, FeaturesZnode, malformed)  # while it is malformed, the controller refuses updates of features
    nobody = None if controller is not None else "no broker is the controller"
    requested = await _read(store, ReassignPartitions, malformed)
    targets = {} if requested is None else requested.targets()
    async for row in _deletions(store, topics, targets, live, nobody):
        yield row
    for row in _reassignments(topics, targets, live, nobody):
        yield row
    async for row in _elections(store, topics, live, nobody, malformed):
        yield row
    for path, meaning in QUEUES.items():
        count = len([name async for name, _ in read_children(store, path)])
        if count:
            yield ControllerZnode(path, f"{count} {meaning}", nobody)
    for fault in malformed:
        reason = f"{fault.key}: {fault.reason}" if fault.key else fault.reason
        yield ControllerZnode(fault.path, "the controller cannot read this znode", reason)


def _controller_row(controller: ActiveController | None) -> ControllerZnode:
    if controller is None:
        return ControllerZnode("/controller", "no broker is the controller")
    since = ""
    if controller.timestamp is not None:
        since = f" since {time_text(controller.timestamp, milliseconds=False).removesuffix('Z')} UTC"
    migrating = "; a KRaft controller has taken over" if controller.is_migrating else ""
    return ControllerZnode("/controller", f"broker {controller.broker_id} is the controller{since}{migrating}")


async def _deletions(
    store: Store,
    topics: Mapping[str, TopicRegistration],
    targets: Mapping[ListedPartition, tuple[int, ...]],
    live: set[int],
    nobody: str | None,
) -> AsyncIterator[ControllerZnode]:
    """Return the topics that are marked for deletion. A deletion waits for every replica, and for reassignments."""
    async for name, _ in read_children(store, DeletionMarker.root):
        topic = topics.get(name)
        if topic is None:
            reason: str | None = "the topic does not exist: the controller removes the mark"
        else:
            reason = _down({broker for replicas in topic.partitions.values() for broker in replicas}, live)
            requested = [ids for (moved, _), ids in targets.items() if moved == name]
            if topic.adding_replicas or topic.removing_replicas or requested:
                missing = {broker for ids in (*topic.adding_replicas.values(), *requested) for broker in ids} - live
                waits = "partitions of the topic are being reassigned"
                if missing:
                    waits += f" to {_listed(missing)}, which cannot end: start {_broker_word(missing)}, or cancel it"
                reason = waits if missing or reason is None else reason
        yield ControllerZnode(DeletionMarker.path(name), f"topic {name} is marked for deletion", nobody or reason)


def _reassignments(
    topics: Mapping[str, TopicRegistration],
    targets: Mapping[ListedPartition, tuple[int, ...]],
    live: set[int],
    nobody: str | None,
) -> Iterator[ControllerZnode]:
    """Return reassignments: requested ones in their znode, and running ones in the znodes of topics (KIP-455)."""
    for (topic, partition), replicas in targets.items():
        reason = _down(set(replicas), live) if topic in topics else f"topic {topic} does not exist"
        yield ControllerZnode(
            ReassignPartitions.path(), f"{topic}-{partition} is to move to {_listed(replicas)}", nobody or reason
        )
    for name, registration in sorted(topics.items()):
        for partition in sorted({*registration.adding_replicas, *registration.removing_replicas}):
            added = registration.adding_replicas.get(partition, ())
            removed = registration.removing_replicas.get(partition, ())
            moves = [f"{word} {_listed(ids)}" for word, ids in (("adds", added), ("removes", removed)) if ids]
            yield ControllerZnode(
                TopicRegistration.path(name),
                f"{name}-{partition} is being reassigned: {' and '.join(moves)}",
                nobody or _down(set(added), live),
            )


async def _elections(
    store: Store,
    topics: Mapping[str, TopicRegistration],
    live: set[int],
    nobody: str | None,
    malformed: list[ZnodeError],
) -> AsyncIterator[ControllerZnode]:
    requested = await _read(store, PreferredReplicaElection, malformed)
    for topic, partition in () if requested is None else requested.partitions:
        registration = topics.get(topic)
        replicas = () if registration is None else registration.partitions.get(partition, ())
        reason = _down(set(replicas[:1]), live) if replicas else f"partition {topic}-{partition} does not exist"
        yield ControllerZnode(
            PreferredReplicaElection.path(), f"{topic}-{partition} is to be led by its first replica", nobody or reason
        )


async def _read(store: Store, kind: type[T], malformed: list[ZnodeError]) -> T | None:
    """Return a znode; None if it does not exist, or if it is malformed, which is added to a list."""
    try:
        znode = await store.get(kind.path())  # type: ignore[attr-defined]  # every class of znodes has a path
        return kind.decode(znode.data)  # type: ignore[attr-defined,no-any-return]  # and decodes its data
    except NoNode:
        return None
    except ZnodeError as error:
        malformed.append(error)
        return None


def _down(brokers: set[int], live: set[int]) -> str | None:
    """Return which brokers are down, or None."""
    down = brokers - live
    return None if not down else f"broker {_listed(down)} is down" if len(down) == 1 else f"{_listed(down)} are down"


def _broker_word(brokers: set[int]) -> str:
    return "this broker" if len(brokers) == 1 else "these brokers"


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids if isinstance(ids, tuple) else sorted(ids))) or "none"
