"""`kwire cluster`: run a cluster of nodes on this machine, including ZooKeeper."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire._util.child_process import is_running
from kwire._util.readable import counted
from kwire._util.ready_file import prepare, remove, write_atomically
from kwire.terminal.options import ready_file_option, require
from kwire_cluster.commands.node import parse_assignment

if TYPE_CHECKING:
    from types import FrameType

    from kwire_cluster.local.local_cluster import LocalCluster

NOTICE_SECONDS = 30.0
"""Time for a cluster to notice a node that was restarted."""
RESTART_WINDOW = 60.0
START_ATTEMPTS = 3
MAX_RESTARTS = 5
"""Restarts of ZooKeeper within `RESTART_WINDOW` seconds before the cluster ends."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.group()
def cluster() -> None:
    """`up` and `start-node` run kwire's own nodes, not brokers of Kafka.

    Nodes are servers of an old draft of Kafka's admin protocol (KIP-4). They store no records. ZooKeeper starts with
    them and needs Java 17, unless --zookeeper names one that runs.

    \b
    Examples:
      kwire cluster up --nodes 3
      kwire cluster up --data cluster --ready-file ready.json
      kwire cluster start-node --id 2 --data cluster
    """


@cluster.command()
@click.option("--nodes", type=click.IntRange(1, 99), default=3, show_default=True, help="Number of nodes.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Data directory. [default: temporary]",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a property of every node. Can be given several times.",
)
@click.option(
    "--rack",
    "racks",
    multiple=True,
    metavar="NAME",
    help="A rack. Nodes are assigned to the racks in turn. Can be given several times.",
)
@click.option(
    "--zookeeper",
    metavar="HOST:PORT,...[/PATH]",
    help="Use this running ZooKeeper. [default: start one]",
)
@ready_file_option("the addresses", "the cluster is ready")
def up(
    nodes: int,
    data: Path | None,
    assignments: tuple[str, ...],
    racks: tuple[str, ...],
    zookeeper: str | None,
    ready_file: Path | None,
) -> int:
    """Start a cluster, and run it until Ctrl-C or SIGTERM.

    FILE contains the address of ZooKeeper, the id, host, port, and process id of each node, and the process id of this
    command. A cluster in an existing DIR keeps its topics and ports. If ZooKeeper ends, it is started again.

    \b
    Examples:
      kwire cluster up
      kwire cluster up --nodes 5 --data cluster --set default.replication.factor=3
      kwire cluster up --data cluster --ready-file ready.json &
      kwire cluster up --rack east --rack west --zookeeper zk-1:2181,zk-2:2181/kwire
    """
    require("structlog", "cli")
    from kwire_cluster.config.value_types import ENSEMBLE
    from kwire_cluster.local.local_cluster import LocalCluster

    try:
        zookeeper = None if zookeeper is None else ENSEMBLE.parse(zookeeper)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--zookeeper") from None
    stop = threading.Event()
    _handle_signals(stop)
    local = LocalCluster(
        nodes,
        data=data,
        settings=dict(map(parse_assignment, assignments)),
        racks={index + 1: racks[index % len(racks)] for index in range(nodes)} if racks else None,
        zookeeper=zookeeper,
    )
    # Callbacks run in reverse: the ready file goes first, so that no client connects to a cluster that stops.
    with ExitStack() as stack:
        stack.callback(local.close)
        stack.callback(_ignore_signals)
        try:
            local.lock()
        except OSError as error:
            raise click.BadParameter(f"{error}.", param_hint="--data") from None
        # A file that cannot be written fails before any process is started.
        if ready_file is not None:
            try:
                prepare(ready_file)
            except OSError as error:
                raise click.BadParameter(f"{error}.", param_hint="--ready-file") from None
            stack.callback(remove, ready_file)
        _start(local, f"{'ZooKeeper and ' if zookeeper is None else ''}{counted(nodes, 'node')}")
        if ready_file is not None:
            write_atomically(ready_file, local.addresses())
        status = _wait(local, stop, ready_file, keeps_data=data is not None)
        print("Stopping ... Press Ctrl-C again to kill all processes.", flush=True)
        local.stop()
    return status


def _start(local: LocalCluster, processes: str) -> None:
    """Start a cluster, and print the addresses of its processes."""
    from kwire_cluster.local.cluster_file import InvalidClusterFile

    print(f"Starting {processes} in {local.data} ...", flush=True)
    try:
        local.start()
    except InvalidClusterFile as error:
        raise click.BadParameter(f"{error}.", param_hint="--data") from None
    print(f"ZooKeeper  {local.zookeeper_connect}")
    for node in local.nodes:
        print(f"node {node.id:<5} {node.host}:{node.port}  process {node.pid}")
    print("Ready. Press Ctrl-C to stop.", flush=True)


@cluster.command(name="start-node")
@click.option("--id", "node_id", type=click.IntRange(min=0), required=True, help="Node id.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Data directory of the cluster.",
)
def start_node(node_id: int, data: Path) -> int:
    """Restart a node that was killed or stopped.

    DIR is the data directory of a running `kwire cluster up`. The node runs in the background, at its previous port,
    and ends with its cluster.
    """
    from kwire_cluster.local.cluster_file import ClusterFile, InvalidClusterFile
    from kwire_cluster.local.node_folder import NodeFolder

    data = data.resolve()
    folder = NodeFolder(data, node_id)
    try:
        cluster_file = ClusterFile.read(data)
    except InvalidClusterFile as error:
        raise click.BadParameter(f"{error}.", param_hint="--data") from None
    previous = None if cluster_file is None else cluster_file.node(node_id)
    if cluster_file is None or previous is None or not folder.properties.exists():
        raise click.BadParameter(f"{data} has no cluster with a node {node_id}.", param_hint="--data")
    if not is_running(cluster_file.pid):
        raise click.ClickException(
            f"the cluster in {data} is not running (process {cluster_file.pid} has ended): "
            f"start it with kwire cluster up --data {data}"
        )
    if (pid := folder.pid()) is not None:
        raise click.ClickException(f"node {node_id} is already running, process {pid}")
    folder.remove_ready_file()
    folder.set_port(previous.port)
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            (*folder.command(), "--end-with", str(cluster_file.pid)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = folder.wait_ready(process.poll)
    deadline = time.monotonic() + NOTICE_SECONDS
    while time.monotonic() < deadline:
        cluster_file = ClusterFile.read(data)
        if cluster_file is None or cluster_file.node(node_id) == address:
            break
        time.sleep(0.02)  # the cluster writes the new process id
    print(f"node {node_id} {address.host}:{address.port}  process {address.pid}")
    return 0


def _handle_signals(stop: threading.Event) -> None:
    """Set `stop` at the first SIGINT or SIGTERM, and raise KeyboardInterrupt at the second."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in SIGNALS:
        signal.signal(number, on_signal)


def _ignore_signals() -> None:
    """Ignore further signals: killing all processes takes no time, and must not be interrupted."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _wait(local: LocalCluster, stop: threading.Event, ready_file: Path | None, *, keeps_data: bool) -> int:
    """Wait for `stop`, report nodes that end or are restarted meanwhile, and start ZooKeeper again if it ends.

    Returns:
        The exit status: 1 if ZooKeeper cannot be started again.
    """
    restarts: list[float] = []
    while not stop.wait(0.2):
        if local.poll_restarted():
            if ready_file is not None:
                write_atomically(ready_file, local.addresses())
            local.write_cluster_file()
        status = local.zookeeper.poll_ended()
        if status is not None:
            restarts = [at for at in restarts if at > time.monotonic() - RESTART_WINDOW] + [time.monotonic()]
            if not _restart_zookeeper(local, status, is_allowed=len(restarts) <= MAX_RESTARTS):
                return 1
        for node_id, status in local.poll_ended():
            print(f"Node {node_id} {_ending(status)}.", file=sys.stderr)
            if keeps_data:
                print(f"Restart it: kwire cluster start-node --id {node_id} --data {local.data}", file=sys.stderr)
    return 0


def _restart_zookeeper(local: LocalCluster, status: int, *, is_allowed: bool) -> bool:
    """Start ZooKeeper again, and return whether it runs."""
    from kwire_cluster.zookeeper.embedded_server import CannotStart

    if not is_allowed:
        print(f"ZooKeeper {_ending(status)}, again and again: see {local.zookeeper.log}", file=sys.stderr)
        return False
    print(f"ZooKeeper {_ending(status)}: starting it again.", file=sys.stderr, flush=True)
    for _ in range(START_ATTEMPTS):
        try:
            local.zookeeper.start()
        except CannotStart as error:
            print(f"Error: {error}", file=sys.stderr, flush=True)
        else:
            print(f"ZooKeeper is running again, process {local.zookeeper.pid}.", file=sys.stderr, flush=True)
            return True
    return False


def _ending(status: int) -> str:
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
