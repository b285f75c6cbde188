"""`kwire capture`: poll a cluster's metadata into a folder."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire.cli.options import command_config_option, load_command_config, require
from kwire.cli.parameter_types import FiniteRange

if TYPE_CHECKING:
    from kwire.capture import Capture
    from kwire.client import ConnectionConfig, Statistics
    from kwire.protocol.negotiated_versions import Dialect


@click.command()
@click.argument("out", type=click.Path(path_type=Path, file_okay=False), metavar="OUT")
@click.option("-b", "--bootstrap", required=True, metavar="HOST:PORT,...", help="Connect to these brokers first.")
@command_config_option
@click.option(
    "-i",
    "--interval",
    type=FiniteRange(min=0.01),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Poll each broker at this interval.",
)
@click.option("--duration", type=FiniteRange(min=0), metavar="SECONDS", help="Stop after this time  [default: at ^C]")
@click.option("-d", "--dialect", type=click.Choice(["kafka", "kip4"]), help="Use this dialect  [default: detect]")
@click.option("--one", is_flag=True, help="Poll one broker instead of all brokers.")
@click.option("--configs", type=FiniteRange(min=1), metavar="SECONDS", help="Also poll topic configs at this interval.")
def capture(
    out: Path,
    bootstrap: str,
    command_config: Path | None,
    interval: float,
    duration: float | None,
    dialect: Dialect | None,
    one: bool,
    configs: float | None,
) -> int:
    """Poll a cluster's metadata into a folder.

    An existing capture in OUT is continued. `kwire replay OUT` lists the changes, also while this command runs.

    \b
    Examples:
      kwire capture --bootstrap broker-1:9092,broker-2:9092 OUT
      kwire capture -b broker-1:9092 --interval 0.5 --duration 60 --configs 30 OUT
      kwire capture -b broker-1:9093 --command-config client.properties OUT
    """
    require("pyarrow", "capture")
    from kwire.capture import CaptureInUse

    _check_bootstrap(bootstrap)
    config = None if command_config is None else load_command_config(command_config).connection
    try:
        with _open_capture(out) as folder:
            for found in folder.recovered:
                print(f"{found.tail.name}: recovered {found.rows} rows, discarded {found.torn_bytes} incomplete bytes")
            statistics = _poll(folder, bootstrap, config, interval, duration, dialect, one=one, configs=configs)
    except CaptureInUse as error:
        raise click.ClickException(str(error)) from None
    print(
        f"{statistics.polls} polls: {statistics.same} unchanged, {statistics.errors} failed;"
        f" {statistics.bytes:,} bytes received"
    )
    return 0


def _open_capture(out: Path) -> Capture:
    from kwire.capture import Capture, CaptureError

    try:
        return Capture(out)
    except CaptureError:
        raise
    except OSError as error:
        raise click.ClickException(f"cannot write to {out}: {error.strerror}") from None


def _check_bootstrap(bootstrap: str) -> None:
    from kwire.protocol import Endpoint

    try:
        Endpoint.parse_all(bootstrap)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--bootstrap") from None


def _poll(
    folder: Capture,
    bootstrap: str,
    config: ConnectionConfig | None,
    interval: float,
    duration: float | None,
    dialect: Dialect | None,
    *,
    one: bool,
    configs: float | None,
) -> Statistics:
    import asyncio

    from kwire.client import PolledRequest, Poller, topic_configs

    async def poll() -> Statistics:
        async with Poller(
            bootstrap,
            interval=interval,
            dialect=dialect,
            brokers="one" if one else "all",
            requests=[]
            if configs is None
            else [PolledRequest(topic_configs(), configs, "one", separate_connection=True)],
            capture=folder,
            config=config,
        ) as poller:
            # Cancel instead of exit, so that everything polled so far is written.
            polling = asyncio.ensure_future(poller.run(duration))
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, polling.cancel)
            await asyncio.wait([polling])
            if not polling.cancelled() and (error := polling.exception()) is not None:
                raise error
            return poller.statistics

    print(f"polling {bootstrap} into {folder.folder}", file=sys.stderr)
    return asyncio.run(poll())
