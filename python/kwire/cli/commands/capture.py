"""`kwire capture`: poll a cluster's metadata into a folder."""

from __future__ import annotations

import signal
import sys
from contextlib import nullcontext
from pathlib import Path

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.readable import counted, printable
from kwire.client.polled_inputs import INPUTS, polled_requests
from kwire.terminal.cluster import choose_cluster, with_environment
from kwire.terminal.cluster_options import choosing_options, merge
from kwire.terminal.options import interval_option, polled_input_options, require
from kwire.terminal.parameter_types import FiniteRange
from kwire.terminal.problems import exit_code

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from kwire.capture import Capture
    from kwire.client import Poll, Statistics
    from kwire.errors import KwireError
    from kwire.protocol.negotiated_versions import Dialect
    from kwire.terminal.cluster import ClusterChoice

CHOOSING = ("bootstrap", "cluster", "command_config", "overrides", "timeout")
"""Options that choose the cluster and how to connect to it."""


@click.command(params=[*choosing_options()])
@click.argument("out", type=click.Path(file_okay=False), metavar="OUT")
@interval_option("-i", "--interval", description="Poll each broker at this interval.", least=0.01)
@click.option(
    "--duration", type=FiniteRange(min=0), metavar="SECONDS", help="Stop after this time  [default: at Ctrl-C]"
)
@click.option("-d", "--dialect", type=click.Choice(["kafka", "kip4"]), help="Use this dialect  [default: detect]")
@click.option("--one", is_flag=True, help="Poll one broker instead of all brokers.")
@click.option(
    "--upload", metavar="URI", help="Copy finished files to this URI, such as s3://bucket/capture, every minute."
)
@click.option(
    "--poller-id", metavar="NAME", help="Name this poller in the capture  [default: as before in OUT, or random]"
)
@polled_input_options
def capture(
    out: str,
    interval: float,
    duration: float | None,
    dialect: Dialect | None,
    one: bool,
    upload: str | None,
    poller_id: str | None,
    **chosen: Any,
) -> int:
    """Poll the metadata of a cluster, and store the responses in a folder.

    An existing capture in OUT is continued. `kwire replay OUT` lists the changes, also while this command runs. Polls
    that fail are reported and captured; if no broker has ever answered, the exit code is not 0.

    \b
    Examples:
      kwire capture --bootstrap broker-1:9092,broker-2:9092 OUT
      kwire capture -b broker-1:9092 --interval 0.5 --duration 60 --configs 30 OUT
      kwire capture -b broker-1:9093 --command-config client.properties OUT
      kwire capture -b broker-1:9092 --upload s3://bucket/captures/prod OUT
    """
    require("pyarrow", "capture")
    from kwire.capture import CaptureInUse, NotACapture

    folder_path = _local_folder(out)
    intervals = {name: chosen.pop(name) for name in INPUTS}
    chosen = with_environment(merge(click.get_current_context().obj or {}, chosen))
    cluster = choose_cluster(**{name: chosen[name] for name in CHOOSING})
    outages = Outages()
    try:
        with _uploading(folder_path, upload), _open_capture(folder_path, poller_id) as folder:
            for segment in folder.recovered:
                print(
                    f"{segment.tail.name}: recovered {counted(segment.rows, 'row')},"
                    f" discarded {segment.torn_bytes} incomplete bytes"
                )
            statistics = _poll(folder, cluster, outages, interval, duration, dialect, one=one, intervals=intervals)
    except (CaptureInUse, NotACapture) as error:
        raise click.ClickException(str(error)) from None
    print(
        f"{counted(statistics.polls, 'poll')}: {statistics.same} unchanged, {statistics.errors} failed;"
        f" {statistics.bytes:,} bytes received"
    )
    if outages.last is None or statistics.errors < statistics.polls:
        return 0
    print(f"Error: no broker has answered: {printable(str(outages.last))}", file=sys.stderr)
    return exit_code(outages.last)


class Outages:
    """Prints when a broker stops answering, and why, and when it answers again; and when the clock is set.

    Attributes:
        last: the last error; None if every poll had a response.
    """

    def __init__(self) -> None:
        self.last: KwireError | None = None
        self._reasons: dict[str, str] = {}

    def report(self, poll: Poll[Any]) -> None:
        """Print a line if the state of the polled broker has changed, and if the clock was set."""
        if poll.clock_step_us is not None:
            way = "forward" if poll.clock_step_us > 0 else "back"
            print(f"the clock of this machine was set {way} by {abs(poll.clock_step_us) / 1e6:.1f} s", file=sys.stderr)
        before = self._reasons.get(poll.endpoint)
        if poll.error is not None:
            self.last = poll.error
            self._reasons[poll.endpoint] = reason = str(poll.error)
            if reason != before:
                print(f"no answer: {printable(reason)}", file=sys.stderr)
        elif before is not None:
            del self._reasons[poll.endpoint]
            print(f"answers again: {poll.endpoint}", file=sys.stderr)


def _local_folder(out: str) -> Path:
    from kwire.storage.location import Location, UnsupportedLocation

    try:
        place = Location.parse(out, any_name=True)
    except UnsupportedLocation as error:
        raise click.BadParameter(str(error), param_hint="OUT") from None
    if not place.is_path:
        raise click.BadParameter(
            f"expected a path, got {out}: a capture grows on this machine, and --upload copies it", param_hint="OUT"
        )
    return Path(place.native)


def _open_capture(out: Path, poller_id: str | None) -> Capture:
    from kwire.capture import Capture, CaptureError

    try:
        return Capture(out, poller_id=poller_id)
    except CaptureError:
        raise
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--poller-id") from None
    except OSError as error:
        raise click.ClickException(f"cannot write to {out}: {error.strerror}") from None


def _uploading(out: Path, place: str | None) -> AbstractContextManager[object]:
    if place is None:
        return nullcontext()
    require("deltalake", "spark")
    from kwire.capture.upload import PeriodicUpload
    from kwire.storage.location import UnsupportedLocation

    try:
        return PeriodicUpload(str(out), place)
    except UnsupportedLocation as error:
        raise click.BadParameter(str(error), param_hint="--upload") from None


def _poll(
    folder: Capture,
    cluster: ClusterChoice,
    outages: Outages,
    interval: float,
    duration: float | None,
    dialect: Dialect | None,
    *,
    one: bool,
    intervals: Mapping[str, float | None],
) -> Statistics:
    import asyncio

    from kwire.client import Poller

    async def poll() -> Statistics:
        async with Poller(
            cluster.bootstrap,
            interval=interval,
            dialect=dialect,
            brokers="one" if one else "all",
            requests=polled_requests(intervals),
            capture=folder,
            overflow="drop",  # the capture has all polls
            config=cluster.config,
        ) as poller:

            async def report() -> None:
                async for poll in poller:
                    outages.report(poll)

            # Cancel instead of exit, so that everything polled so far is written.
            polling = asyncio.ensure_future(report())
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, polling.cancel)
            await asyncio.wait([polling], timeout=duration)
            if not polling.done():
                polling.cancel()
                await asyncio.wait([polling])
            if not polling.cancelled() and (error := polling.exception()) is not None:
                raise error
            return poller.statistics

    print(f"polling {cluster.bootstrap} into {folder.folder}", file=sys.stderr)
    return asyncio.run(poll())
