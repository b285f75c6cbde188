"""``kwire cluster``: a cluster of nodes on this machine, ZooKeeper included."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire.child_process import is_running
from kwire.cli.options import require
from kwire.ready_file import prepare, write_atomically

if TYPE_CHECKING:
    from types import FrameType

    from kwire.testing.local_cluster import LocalCluster

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.group()
def cluster() -> None:
    """Run a cluster of nodes on this machine.

    Nodes serve the admin protocol of KIP-4's drafts, and keep no messages. ZooKeeper is started with them.

    \b
    Examples:
      kwire cluster up --nodes 3
      kwire cluster up --data cluster --ready-file ready.json
      kwire cluster start-node --id 2 --data cluster
    """  # noqa: D301  # \b is click's mark


@cluster.command()
@click.option("--nodes", type=click.IntRange(1, 99), default=3, show_default=True, help="How many.")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Kept; else thrown away.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of every node; as often as needed."
)
@click.option(
    "--ready-file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Says where all is."
)
def up(nodes: int, data: Path | None, settings: tuple[str, ...], ready_file: Path | None) -> int:
    """Start a cluster, and stop it at ^C or SIGTERM.

    When everything answers, FILE holds JSON: where ZooKeeper is, and of each node id, host, port and process. A cluster
    whose DIR is there already goes on where it was.

    \b
    Examples:
      kwire cluster up
      kwire cluster up --nodes 5 --data cluster --set default.replication.factor=3
      kwire cluster up --data cluster --ready-file ready.json &
    """  # noqa: D301  # \b is click's mark
    require("kazoo", "node")
    require("structlog", "node")
    from kwire.testing.cluster_file import BrokenClusterFile
    from kwire.testing.local_cluster import LocalCluster

    stop = threading.Event()
    _listen(stop)
    made = LocalCluster(nodes, data=data, settings=dict(map(_setting, settings)))
    with ExitStack() as ends:
        ends.callback(made.close)
        ends.callback(_ignore_signals)
        try:
            made.lock()
        except OSError as error:
            raise click.BadParameter(f"{error}.", param_hint="--data") from None
        if ready_file is not None:
            try:
                prepare(ready_file)
            except OSError as error:
                raise click.BadParameter(f"{error}.", param_hint="--ready-file") from None
            ends.callback(ready_file.unlink, missing_ok=True)
        print(f"Starting ZooKeeper and {nodes} nodes in {made.data} ...", flush=True)
        try:
            made.start()
        except BrokenClusterFile as error:
            raise click.BadParameter(f"{error}.", param_hint="--data") from None
        print(f"ZooKeeper  {made.zookeeper.hosts}")
        for node in made.nodes:
            print(f"node {node.id:<5} {node.host}:{node.port}  process {node.pid}")
        print("All answer. ^C stops them.", flush=True)
        if ready_file is not None:
            write_atomically(ready_file, made.facts())
        _watch(made, stop, kept=data is not None)
        print("Stopping ... ^C again kills them.", flush=True)
        made.stop()
    return 0


@cluster.command(name="start-node")
@click.option("--id", "node_id", type=click.IntRange(min=0), required=True, help="Which one.")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR")
def start_node(node_id: int, data: Path) -> int:
    """Bring back a node that was killed or stopped.

    DIR is the folder of a cluster that `kwire cluster up` runs. The node goes on in the background, at its own port,
    and ends with its cluster.
    """
    require("kazoo", "node")
    from kwire.testing.cluster_file import BrokenClusterFile, ClusterFile
    from kwire.testing.local_cluster import node_command, node_of, wait_ready

    data = data.resolve()
    folder = data / f"node-{node_id}"
    try:
        known = ClusterFile.read(data)
    except BrokenClusterFile as error:
        raise click.BadParameter(f"{error}.", param_hint="--data") from None
    earlier = None if known is None else known.node(node_id)
    if known is None or earlier is None or not (folder / "server.properties").exists():
        raise click.BadParameter(f"{data} is no folder of a cluster with a node {node_id}.", param_hint="--data")
    if not is_running(known.pid):
        raise click.ClickException(
            f"the cluster in {data} does not run, process {known.pid} is gone: kwire cluster up --data {data}"
        )
    if (pid := node_of(folder)) is not None:
        raise click.ClickException(f"node {node_id} runs already, process {pid}")
    (folder / "ready.json").unlink(missing_ok=True)
    _keep_port(folder / "server.properties", earlier.port)
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - a program of ours, with our own arguments
            (*node_command(folder), "--end-with", str(known.pid)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = wait_ready(node_id, folder, process.poll, folder / "log")
    print(f"node {node_id} {address.host}:{address.port}  process {address.pid}")
    return 0


def _keep_port(properties: Path, port: int) -> None:
    """Put the port that the node had into its file, which may say 0 for a free one."""
    lines = properties.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("listeners=")]
    properties.write_text("\n".join([*kept, f"listeners=ADMIN://127.0.0.1:{port}"]) + "\n", encoding="utf-8")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"{text!r} has not the form NAME=VALUE.", param_hint="--set")
    return name.strip(), value.strip()


def _listen(stop: threading.Event) -> None:
    """SIGINT and SIGTERM set ``stop``; when that has been asked for already, they end the command as ^C does."""

    def told(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in SIGNALS:
        signal.signal(number, told)


def _ignore_signals() -> None:
    """What is left to do takes no time, and a third ^C would leave it undone."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _watch(made: LocalCluster, stop: threading.Event, *, kept: bool) -> None:
    """Until told to stop; nodes that end meanwhile are told of."""
    while not stop.wait(0.2):
        for node_id, status in made.ended():
            how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
            print(f"Node {node_id} has ended, {how}.", file=sys.stderr)
            if kept:
                print(f"Bring it back: kwire cluster start-node --id {node_id} --data {made.data}", file=sys.stderr)
