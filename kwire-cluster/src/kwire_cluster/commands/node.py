"""`kwire node`: run one node of a cluster."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire._util.products import find_part
from kwire._util.ready_file import prepare
from kwire.terminal.options import ready_file_option, require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cluster.node.requests.request_context import NodeServices
    from kwire_cluster.node.tools import NodeTool


@click.command()
@click.argument(
    "properties",
    required=False,
    type=click.Path(path_type=Path),
    metavar="[SERVER.PROPERTIES]",
)
@click.option("--id", "node_id", metavar="N", help="Broker id (broker.id).")
@click.option("--zookeeper", metavar="HOST:PORT[,...][/CHROOT]", help="ZooKeeper ensemble (zookeeper.connect).")
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Address to listen on; port 0 is a free one (listeners). [default: 127.0.0.1:0]",
)
@click.option(
    "--metrics", metavar="HOST:PORT", help="Address to serve Prometheus metrics on (metrics.listener). [default: none]"
)
@click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="Set any property. Can be given several times."
)
@ready_file_option("id, host, port, metrics_port, and pid", "the node has joined the cluster")
@click.option("--end-with", type=int, metavar="PID", help="Stop when this process ends.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Lowest level to log.",
)
def node(
    properties: Path | None,
    node_id: str | None,
    zookeeper: str | None,
    listen: str | None,
    metrics: str | None,
    assignments: tuple[str, ...],
    ready_file: Path | None,
    end_with: int | None,
    log_level: str,
) -> int:
    """Run one node of a KIP-4 cluster, a server that is not a broker of Kafka.

    A node serves the admin protocol of the KIP-4 drafts and takes part in the controller election. Properties have the
    names of Kafka's server.properties. Options override the file, and --set overrides both.

    \b
    Examples:
      kwire node --id 1 --zookeeper localhost:2181 --listen 127.0.0.1:9092
      kwire node server.properties --ready-file ready.json
      kwire node server.properties --set default.replication.factor=3

    Exit codes: 0 stopped by a signal, 1 cannot start, 2 wrong usage or settings.
    """
    require("structlog", "node")
    require("prometheus_client", "node")
    import asyncio

    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.config.setting import SettingError
    from kwire_cluster.node.logs import LogFile, configure_logging
    from kwire_cluster.node.process import run_node

    values = {} if properties is None else _read_properties(properties)
    options = {"broker.id": node_id, "zookeeper.connect": zookeeper, "listeners": listen, "metrics.listener": metrics}
    values |= {name: text for name, text in options.items() if text is not None}
    values |= map(parse_assignment, assignments)
    try:
        settings = NodeSettings.from_properties(values)
    except SettingError as error:
        raise click.UsageError(f"{error}.") from None
    if ready_file is not None:
        try:
            prepare(ready_file)
        except OSError as error:
            raise click.BadParameter(f"{error}.", param_hint="--ready-file") from None
    file = None
    if settings.log_file is not None:
        file = LogFile(settings.log_file, settings.log_file_bytes, settings.log_file_count)
    try:
        configure_logging(sys.stderr, logging.getLevelNamesMapping()[log_level.upper()], file)
    except OSError as error:
        raise click.UsageError(f"log.file: {error}.") from None
    try:
        asyncio.run(run_node(settings, ready_file, end_with, installed_tools()))
    finally:
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)
    return 0


def _read_properties(file: Path) -> dict[str, str]:
    """Return the properties of a file, and warn if others can read its secrets."""
    from kwire._util.properties import parse_properties
    from kwire._util.text_files import EncodingError, read_properties
    from kwire.client.security.client_properties import mode_warnings
    from kwire_cluster.config.node_settings import is_secret_property

    try:
        values = parse_properties(read_properties(file))
    except (OSError, EncodingError) as error:
        raise click.BadParameter(f"{error}.", param_hint="SERVER.PROPERTIES") from None
    if any(map(is_secret_property, values)):
        for warning in mode_warnings(file):
            click.echo(f"Warning: {warning}", err=True)
    return values


def parse_assignment(text: str) -> tuple[str, str]:
    """Parse the value of `--set`."""
    from kwire_cluster.config.node_settings import is_secret_property

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE.", param_hint="--set")
    if is_secret_property(name.strip()):
        problem = f"{name.strip()} is a secret, and command lines are public: set it in a file."
        raise click.BadParameter(problem, param_hint="--set")
    return name.strip(), value.strip()


def installed_tools() -> Callable[[NodeServices], Sequence[NodeTool]]:
    """Return the tools of installed products, which Admin requests run: those of kwire-zookeeper-tools, if it is there.

    Raises:
        BrokenProduct: a product cannot be imported, or has another version.
    """
    on_node = find_part("node-tools")
    if on_node is None:
        return lambda _: ()
    tools: Callable[[NodeServices], Sequence[NodeTool]] = on_node()
    return tools
