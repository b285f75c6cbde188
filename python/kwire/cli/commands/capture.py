"""``kwire capture``: poll a cluster into a folder."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire.cli.options import FiniteRange, require

if TYPE_CHECKING:
    from kwire.capture import Capture
    from kwire.client import Statistics


@click.command()
@click.argument("out", type=click.Path(path_type=Path, file_okay=False), metavar="OUT")
@click.option("-b", "--bootstrap", required=True, metavar="HOST:PORT", help="One broker or several, with commas.")
@click.option(
    "-i",
    "--interval",
    type=FiniteRange(min=0.01),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="From one question to a broker to the next.",
)
@click.option("--duration", type=FiniteRange(min=0), metavar="SECONDS", help="End by itself; else ^C does it.")
@click.option("-d", "--dialect", type=click.Choice(["kafka", "kip4"]), help="As found out, if not said.")
@click.option("--one", is_flag=True, help="Ask one broker, not all of them.")
@click.option("--configs", type=FiniteRange(min=1), metavar="SECONDS", help="Ask for settings of topics as often.")
def capture(
    out: Path,
    bootstrap: str,
    interval: float,
    duration: float | None,
    dialect: str | None,
    one: bool,
    configs: float | None,
) -> int:
    """Poll a cluster's metadata into a folder.

    What is in OUT already stays, and is gone on with. `kwire replay OUT` tells what happened, also while this runs.

    \b
    Examples:
      kwire capture --bootstrap broker-1:9092,broker-2:9092 OUT
      kwire capture -b broker-1:9092 --interval 0.5 --duration 60 --configs 30 OUT
    """  # noqa: D301  # \b is click's mark
    require("pyarrow", "capture")
    from kwire.capture import CaptureInUse

    _refuse_bad_bootstrap(bootstrap)
    try:
        with _opened(out) as folder:
            for found in folder.recovered:
                print(f"{found.tail.name}: {found.rows} rows taken over, {found.torn_bytes} torn bytes cut off")
            statistics = _poll(folder, bootstrap, interval, duration, dialect, one=one, configs=configs)
    except CaptureInUse as error:
        raise click.ClickException(str(error)) from None
    print(
        f"{statistics.polls} polls: {statistics.same} the same again, {statistics.errors} without an answer;"
        f" {statistics.bytes:,} bytes came"
    )
    return 0


def _opened(out: Path) -> Capture:
    from kwire.capture import Capture, CaptureError

    try:
        return Capture(out)
    except CaptureError:
        raise
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror}") from None


def _refuse_bad_bootstrap(bootstrap: str) -> None:
    from kwire.protocol import Endpoint

    try:
        Endpoint.parse_all(bootstrap)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--bootstrap") from None


def _poll(
    folder: Capture,
    bootstrap: str,
    interval: float,
    duration: float | None,
    dialect: str | None,
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
            dialect=dialect,  # type: ignore[arg-type]  # click has checked it
            brokers="one" if one else "all",
            requests=[] if configs is None else [PolledRequest(topic_configs(), configs, "one", apart=True)],
            capture=folder,
        ) as poller:
            # Both are how a capture ends: what was polled is written before the process does.
            polling = asyncio.ensure_future(poller.run(duration))
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, polling.cancel)
            await asyncio.wait([polling])
            if not polling.cancelled() and (error := polling.exception()) is not None:
                raise error
            return poller.statistics

    print(f"polling {bootstrap} into {folder.folder}", file=sys.stderr)
    return asyncio.run(poll())
