"""Requests of other clients that a node serves while one client sends the worst legal and illegal traffic.

    python -m benches.fairness [--quick] [--shared-address] [--connections N] [KIND...]

Four clients, each with an address of its own, send small requests, in turns without and with the attacker: a process
with eight connections from one address that sends, as fast as the node lets it, one kind of traffic of `ATTACKS`:
batches of 10,000 creations, changes, and deletions, requests for 10,000 unknown topics, requests that list too much,
runs of tools, requests without reading the answers, frames that are too large, that never end, that end early, or that
are garbage, and connections without a request. Every kind is measured by itself, and the figure is the worst one. If
the node divided its time evenly among the five addresses, it would be 0.8.

What is measured is how the node divides its time, not how the kernel divides the processors among the programs:

- The figure is answers in a second for which the thread of the node's event loop has run, with and without the
  attacker. Time in which other programs have its core, the attacker among them, does not count.
- The clients have many requests in flight, so that the node has work of theirs even if they wait for a core. A node
  that waits for its clients may spend its time on the attacker, and they lose nothing.
- The clients have a higher priority than the attacker, and, if that is permitted, than other programs. The attacker
  sends prepared bytes, so a part of a core is enough for it.
- Turns without and with the attacker alternate, and neighboring turns give the ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import selectors
import socket
import struct
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benches.figure import Figure
from kwire import frame
from kwire.client.admin import AdminClient, NewTopic
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.list_topics import ListTopicsRequest
from kwire.messages.kip4.preferred_replica_leader_election import PreferredReplicaLeaderElectionRequest, TopicPartitions
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest
from kwire.messages.kip4.structures import PartitionReplicas, TopicReassignment
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip4.verify_reassign_partitions import VerifyReassignPartitionsRequest
from kwire.messages.kip584.update_features import Feature, FeatureUpdate, UpdateFeaturesRequest
from kwire.testing.local_cluster import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from io import RawIOBase
    from multiprocessing.synchronize import Event

    from kwire.declare import Message
    from kwire.testing.local_cluster import NodeAddress

ITEMS = 10_000
"""Maximum number of topics in a request (`admin.request.max.items`)."""
CONNECTIONS = 8
"""Number of connections of the attacker by default."""
CLIENTS = tuple(f"127.0.0.{number}" for number in range(11, 15))
"""The addresses of the other clients."""
ATTACKER = "127.0.0.2"
ATTACKER_TIMEOUT = 0.1
"""Timeout in seconds of an answer to the attacker, who then opens another connection."""
TOPIC = "orders"
BATCH, BATCHES = 256, 8
"""Number of requests in a batch of a client, and of batches that it sends before it waits for answers."""

_numbers = count()


def create() -> bytes:
    """Return a batch of creations, which fail one by one: it is as long as a batch may be, and leaves nothing."""
    number = next(_numbers)
    new = (TopicCreation(topic_name=f"t-{number}-{item}", partitions=1, replication_factor=99) for item in range(ITEMS))
    return _encoded(CreateTopicRequest_V2(topics=tuple(new)), 2)


def alter() -> bytes:
    changes = (TopicAlteration(topic_name=f"unknown-{item}", partitions=3) for item in range(ITEMS))
    return _encoded(AlterTopicRequest_V2(topics=tuple(changes)), 2)


def delete() -> bytes:
    return _encoded(DeleteTopicRequest_V2(topic_names=tuple(f"unknown-{item}" for item in range(ITEMS))), 2)


def unknown_topics() -> bytes:
    number = next(_numbers)
    names = tuple(f"unknown-{number}-{item}" for item in range(ITEMS))
    return _encoded(TopicMetadataRequest_V1(topic_names=names), 1)


def too_many_topics() -> bytes:
    return _encoded(TopicMetadataRequest_V1(topic_names=tuple(map(str, range(ITEMS + 1)))), 1)


def too_large() -> bytes:
    return (100 << 20).to_bytes(4, "big") + bytes(1 << 20)


def unfinished() -> bytes:
    return (3 << 20).to_bytes(4, "big") + b"\0\3\0\1" + bytes(2 << 20)


def cut_short() -> bytes:
    """Return a part of a frame; the attacker disconnects after it."""
    return unfinished()


def connections() -> bytes:
    """Return nothing; the attacker disconnects after it."""
    return b""


def unread() -> bytes:
    """Return requests; the attacker does not read the answers."""
    return unknown_topics() * 8


def small() -> bytes:
    """Return different small requests, so that no answer is cached."""
    names = (f"unknown-{next(_numbers)}" for _ in range(BATCH))
    return b"".join(_encoded(TopicMetadataRequest_V1(topic_names=(name,)), 1) for name in names)


def list_topics() -> bytes:
    return _encoded(ListTopicsRequest(), 1) * BATCH


def elect() -> bytes:
    """Return a request that names one topic, and as many partitions as a frame holds."""
    partitions = TopicPartitions(topic=TOPIC, partition_ids=tuple(range(1_000_000)))
    return _encoded(PreferredReplicaLeaderElectionRequest(topics=(partitions,)), 0)


def reassign() -> bytes:
    return _encoded(ReassignPartitionsRequest(topics=_reassignments()), 0)


def verify() -> bytes:
    return _encoded(VerifyReassignPartitionsRequest(topics=_reassignments()), 0)


def _reassignments() -> tuple[TopicReassignment, ...]:
    partitions = (PartitionReplicas(partition_id=partition, replica_ids=(1,)) for partition in range(20, 300_020))
    return (TopicReassignment(topic=TOPIC, partitions=tuple(partitions)),)


def features() -> bytes:
    """Return an update of unknown features."""
    names = tuple(Feature(name=str(item), max_version_level=1) for item in range(400_000))
    return _encoded(UpdateFeaturesRequest(feature_updates=(FeatureUpdate(allow_downgrade=True, features=names),)), 0)


def tools() -> bytes:
    return _encoded(AdminRequest(tool="status", arguments=()), 0) * 32


def arguments() -> bytes:
    """Return a run of a tool with as many arguments as a frame holds."""
    return _encoded(AdminRequest(tool="config", arguments=("",) * 2_000_000), 0)


def garbage() -> bytes:
    return b"\0\0\x40\0" + os.urandom(0x4000)


def _encoded(request: Message, version: int) -> bytes:
    return frame.encode_request(request, version=version, correlation_id=1, client_id="attacker")


ATTACKS: Mapping[str, Callable[[], bytes]] = {
    attack.__name__: attack
    for attack in (
        create,
        alter,
        delete,
        elect,
        reassign,
        verify,
        features,
        tools,
        arguments,
        list_topics,
        small,
        unknown_topics,
        unread,
        too_many_topics,
        too_large,
        unfinished,
        cut_short,
        connections,
        garbage,
    )
}
DISCONNECTS = {cut_short.__name__, connections.__name__}
"""After these, the attacker disconnects at once."""
UNREAD = {unread.__name__}
"""The answers to these are not read."""


def attack(target: tuple[str, int], kind: str, address: str, connections: int, running: Event, stopped: Event) -> None:
    """Send requests of a kind on several connections while `running` is set, until `stopped` is."""
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    asyncio.run(_attack(target, kind, address, connections, running, stopped))


async def _attack(
    target: tuple[str, int], kind: str, address: str, connections: int, running: Event, stopped: Event
) -> None:
    prepared = ATTACKS[kind]()

    async def one() -> None:
        while not stopped.is_set():
            if not running.is_set():
                await asyncio.sleep(0.02)
                continue
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                reader, writer = await asyncio.open_connection(*target, local_addr=(address, 0))
                try:
                    while running.is_set():
                        writer.write(prepared)
                        await asyncio.wait_for(writer.drain(), None if kind not in UNREAD else 10 * ATTACKER_TIMEOUT)
                        if kind in DISCONNECTS:
                            break
                        if kind in UNREAD:
                            continue
                        size = int.from_bytes(await asyncio.wait_for(reader.readexactly(4), ATTACKER_TIMEOUT), "big")
                        await reader.readexactly(size)
                finally:
                    linger = struct.pack("ii", 1, 0)  # reset: what is not sent yet must not occupy the machine
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(connections)))


class Clients:
    """Clients that keep small requests of two kinds in flight."""

    def __init__(self, target: tuple[str, int]) -> None:
        requests = (
            _encoded(TopicMetadataRequest_V1(topic_names=(TOPIC,)), 1),
            _encoded(ClusterMetadataRequest(), 0),
        )
        self._batch = b"".join(requests) * (BATCH // len(requests))
        self._selector = selectors.DefaultSelector()
        for address in CLIENTS:
            client = socket.create_connection(target, source_address=(address, 0))
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._answers = _read_answers(client, self._batch)  # bytes
            self._selector.register(client, selectors.EVENT_READ, [0])  # bytes of the current batch
            for _ in range(BATCHES):
                client.sendall(self._batch)

    def served(self, seconds: float, thread: NodeThread) -> float:
        """Return the answers to all clients in a second of the node's thread."""
        answered, used = 0, thread.used()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for key, _ in self._selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                answered += self._receive(key.fileobj, key.data)
        return answered / self._answers * BATCH / (thread.used() - used)

    def _receive(self, client: socket.socket, received: list[int]) -> int:
        """Read some bytes of answers, and send a further batch for each complete one. Return the bytes."""
        size = len(client.recv(1 << 20))
        assert size, "the node has closed the connection of a client"
        received[0] += size
        while received[0] >= self._answers:
            received[0] -= self._answers
            client.sendall(self._batch)
        return size


def _read_answers(client: socket.socket, batch: bytes) -> int:
    """Send a batch, and return the bytes of its answers."""
    client.sendall(batch)
    stream = client.makefile("rb", buffering=0)
    total = 0
    for _ in range(BATCH):
        head = _read(stream, 4)
        total += 4 + len(_read(stream, int.from_bytes(head, "big")))
    return total


def _read(stream: RawIOBase, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += stream.read(size - len(data)) or b""
    return data


class NodeThread:
    """The thread of a node's event loop, which is its first."""

    def __init__(self, pid: int) -> None:
        self._schedstat = Path(f"/proc/{pid}/task/{pid}/schedstat")

    def used(self) -> float:
        """Return the seconds for which the thread has run."""
        return int(self._schedstat.read_text(encoding="ascii").split()[0]) / 1e9


def run(
    quick: bool, kinds: Sequence[str] = tuple(ATTACKS), attacker: str = ATTACKER, connections: int = CONNECTIONS
) -> list[Figure]:
    turns, seconds = (2, 1.0) if quick else (5, 2.0)
    with LocalCluster(nodes=1) as cluster:
        [node] = cluster.nodes
        asyncio.run(create_topic(cluster.bootstrap))
        thread = NodeThread(node.pid)
        clients = Clients((node.host, node.port))
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        clients.served(seconds, thread)
        shares = {kind: measured(kind, attacker, connections, node, clients, thread, turns, seconds) for kind in kinds}
        peak = peak_memory(node.pid)
    worst = min(shares, key=lambda kind: shares[kind])
    return [
        Figure(
            "other clients' requests while one client sends the worst traffic, of normal",
            shares[worst],
            "x",
            0.5,
            0.8,
            detail=", ".join(f"{kind.replace('_', ' ')} {share:.2f}" for kind, share in shares.items()),
        ),
        Figure("memory of the node at its peak during all of this traffic", peak / 2**20, " MB", 256, 128, False),
    ]


def peak_memory(pid: int) -> int:
    """Return the bytes of memory that a process had resident at most."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    [kilobytes] = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) * 1024


def measured(
    kind: str,
    attacker: str,
    connections: int,
    node: NodeAddress,
    clients: Clients,
    thread: NodeThread,
    turns: int,
    seconds: float,
) -> float:
    """Return the share of the normal number of answers during an attack of a kind, the median of the turns."""
    context = multiprocessing.get_context("spawn")
    running, stopped = context.Event(), context.Event()
    process = context.Process(
        target=attack, args=((node.host, node.port), kind, attacker, connections, running, stopped)
    )
    process.start()
    ratios = []
    try:
        clients.served(2.0, thread)  # meanwhile the attacker has started, and prepared its request
        for _ in range(turns):
            normal = clients.served(seconds, thread)
            running.set()
            clients.served(0.5, thread)
            ratios.append(clients.served(seconds, thread) / normal)
            running.clear()
            clients.served(1.0, thread)  # the node finishes what it has received
    finally:
        stopped.set()
        process.join()
    return median(ratios)


async def create_topic(bootstrap: str) -> None:
    async with await AdminClient.open(bootstrap) as admin:
        (await admin.create_topics({TOPIC: NewTopic(partitions=10, replication_factor=1)})).raise_first()
        await admin.wait_until_created([TOPIC])


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure shortly, for a first impression")
    parser.add_argument("--shared-address", action="store_true", help="the attacker has the address of a client")
    parser.add_argument("--connections", type=int, default=CONNECTIONS, help="of the attacker [default: %(default)s]")
    parser.add_argument("kinds", nargs="*", choices=[[], *ATTACKS], help="kinds of traffic [default: all]")
    options = parser.parse_args()
    attacker = CLIENTS[0] if options.shared_address else ATTACKER
    for figure in run(options.quick, options.kinds or tuple(ATTACKS), attacker, options.connections):
        print(figure)


if __name__ == "__main__":
    main()
