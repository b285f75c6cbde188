"""``python -m kwire.cluster.node``: one node, until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from kwire.cluster.node.logs import write_to
from kwire.cluster.node.node import Node
from kwire.cluster.node.settings import NodeSettings, SettingError, address, ensemble, number, parse_properties
from kwire.errors import KwireError
from kwire.ready_file import prepare, write_atomically


def main() -> int:
    """Exit codes: 0 stopped in order; 1 could not start; 2 settings or options cannot be used."""
    try:
        given = parser().parse_args()
        settings = read(given)
        write_to(sys.stderr, logging.getLevelNamesMapping()[given.log_level.upper()])
        if given.ready_file is not None:
            prepare(given.ready_file)
    except (SettingError, OSError) as error:
        print(f"kwire.cluster.node: {error}", file=sys.stderr)  # noqa: T201 - to a person at a terminal
        return 2
    try:
        try:
            asyncio.run(serve(settings, given.ready_file, given.end_with))
        finally:
            if given.ready_file is not None:
                given.ready_file.unlink(missing_ok=True)
    except (KwireError, OSError) as error:
        print(f"kwire.cluster.node: {error}", file=sys.stderr)  # noqa: T201 - as above
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m kwire.cluster.node",
        description="A node of a kwire cluster: serves the admin protocol, and is the controller when elected.",
        epilog="Options stand above the file, and --set above both.",
    )
    made.add_argument(
        "properties", nargs="?", type=Path, metavar="server.properties", help="settings, in Kafka's names"
    )
    made.add_argument("--id", help="the node's number (broker.id)")
    made.add_argument("--zookeeper", metavar="HOST:PORT[,...][/CHROOT]", help="the ensemble (zookeeper.connect)")
    made.add_argument("--listen", metavar="HOST:PORT", help="where to serve (listeners); port 0 is a free one")
    made.add_argument("--metrics", metavar="HOST:PORT", help="where to serve metrics for Prometheus")
    made.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting; may be given again")
    made.add_argument(
        "--ready-file", type=Path, metavar="FILE", help="where to write id, host, port and pid when ready"
    )
    made.add_argument("--end-with", type=int, metavar="PID", help="stop when this process is gone")
    made.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    return made


def read(given: argparse.Namespace) -> NodeSettings:
    """Raises SettingError, and OSError for a file that cannot be read."""
    properties: dict[str, str] = {}
    if given.properties is not None:
        properties = parse_properties(given.properties.read_text(encoding="latin-1"))  # Java's encoding of these files
    for text in given.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(text, "", "it has not the form NAME=VALUE")
        properties[name.strip()] = value.strip()
    options: dict[str, Any] = {}
    for name, read_text in (
        ("id", number(0, 2**31 - 1)),
        ("zookeeper", ensemble),
        ("listen", address),
        ("metrics", address),
    ):
        text = getattr(given, name)
        if text is not None:
            try:
                options[name] = read_text(text)
            except ValueError as error:
                raise SettingError(f"--{name}", text, str(error)) from None
    return NodeSettings.read(properties, **options)


async def serve(settings: NodeSettings, ready_file: Path | None, end_with: int | None) -> None:
    """Run until SIGTERM or SIGINT, or until the process ``end_with`` is gone; a second signal ends it at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def told_to_stop() -> None:
        if stop.is_set():
            sys.exit("stopped at once, not in order")
        stop.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told_to_stop)
    if end_with is not None:
        watching = loop.create_task(gone(end_with))
        watching.add_done_callback(lambda _: stop.set())
    node = Node(settings)
    if not await started(node, stop):
        return
    try:
        if ready_file is not None:
            facts = {"id": settings.id, "host": node.host, "port": node.port, "pid": os.getpid()}
            write_atomically(ready_file, facts | {"metrics_port": node.metrics_port})
        await stop.wait()
    finally:
        await node.stop()


async def started(node: Node, stop: asyncio.Event) -> bool:
    """Start it; False, and nothing is left of it, when it was told to stop before it was there."""
    starting = asyncio.ensure_future(node.start())
    told = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            return True
        starting.cancel()
        with suppress(asyncio.CancelledError):
            await starting
        return False
    finally:
        told.cancel()


async def gone(pid: int) -> None:
    """Until there is no such process."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
