"""`kwire sniff`: show the traffic between clients and brokers."""

from __future__ import annotations

import os
import signal
import sys
from itertools import count as numbers

import click

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.cli.entry import EXIT_INVALID_INPUT
from kwire.cli.message_names import DIALECTS, UnknownName, find_all_by_name
from kwire.cli.sniffed_text import SniffOptions, dropped_text, table_heading, text_of
from kwire.terminal.options import color_option, gathered, output_option

if TYPE_CHECKING:
    from kwire.cli.sniffer import Filter
    from kwire.protocol import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

LOOPBACK = "127.0.0.1"


class Route(NamedTuple):
    """An address to listen on, and the broker behind it. Port 0 is a free port."""

    host: str
    port: int
    broker: Endpoint


class RouteOptions(NamedTuple):
    """The options that name addresses: one to listen on and its broker, and pairs of both."""

    listen: str | None
    to: str | None
    maps: tuple[str, ...]

    def routes(self) -> tuple[Route, ...]:
        """Return the routes.

        Raises:
            click.UsageError: an address is missing or malformed.
        """
        if self.listen is not None and self.to is None:
            raise click.UsageError("--listen needs --to, the broker to forward to")
        if self.to is None and not self.maps:
            raise click.UsageError("nothing to sniff: name the broker with --to HOST:PORT, or several with --map")
        routes = []
        if self.to is not None:
            routes.append(Route(*_address(self.listen or "0", "--listen"), _broker(self.to, "--to")))
        for text in self.maps:
            address, equals, broker = text.partition("=")
            if not equals:
                raise click.BadParameter(f"{text!r} is not of the form [HOST:]PORT=HOST:PORT", param_hint="--map")
            routes.append(Route(*_address(address, "--map"), _broker(broker, "--map")))
        return tuple(routes)


@click.command()
@click.option("--listen", metavar="[HOST:]PORT", help="Listen on this address.  [default: a free port of 127.0.0.1]")
@click.option("--to", metavar="HOST:PORT", help="Forward connections to this broker.")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="[HOST:]PORT=HOST:PORT",
    help="Listen on one address and forward to another. Can be given several times, for several brokers.",
)
@click.option(
    "--api", "apis", multiple=True, metavar="NAME[,...]", help="Show only these APIs, such as Metadata,Fetch or 3."
)
@click.option("--client-id", "client_ids", multiple=True, metavar="ID", help="Show only requests with this client id.")
@click.option(
    "--errors-only",
    is_flag=True,
    help="Show only pairs with an error code, a decode error, or without a request or a response.",
)
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="Stop after N requests with their responses.")
@click.option("--show-secrets", is_flag=True, help="Show passwords, tokens, and bytes that cannot be decoded.")
@output_option(["json", "table", "hexdump"], "Print JSON lines, rows of a table, or the bytes of each field.")
@click.option("-a", "--all", "everything", is_flag=True, help="Show long arrays and values of a hex dump in full.")
@click.option(
    "-d", "--dialect", type=click.Choice(DIALECTS), help="Decode this dialect.  [default: as ApiVersions reports]"
)
@color_option
@gathered(addresses=RouteOptions, options=SniffOptions)
def sniff(
    addresses: RouteOptions,
    apis: tuple[str, ...],
    client_ids: tuple[str, ...],
    count: int | None,
    options: SniffOptions,
    dialect: Dialect | None,
) -> int:
    """Show the traffic between clients and brokers.

    The command listens on an address, forwards connections to a broker without changing a byte, and prints each request
    with its response. Clients continue with the addresses that brokers advertise, so connections to these are shown
    only if the addresses lead to the sniffer. TLS cannot be decoded. Secrets are hidden.

    \b
    Examples:
      kwire sniff --listen 19092 --to broker-1:9092 | jq -c '[.api, .version, .latency_ms]'
      kwire sniff --listen 19092 --to broker-1:9092 --api Produce,Fetch --errors-only -o table
      kwire sniff --map 19092=broker-1:9092 --map 19093=broker-2:9092 -o hexdump

    Exit codes: 0 stopped by a signal or --count, 1 cannot listen, 2 wrong usage.
    """  # click needs \b
    import asyncio

    from kwire.cli.sniffer import Filter

    routes = addresses.routes()
    shown = Filter(_api_keys(apis, dialect) if apis else None, frozenset(client_ids) if client_ids else None)
    return asyncio.run(_sniff(routes, dialect, shown, options, count))


def _address(text: str, option: str) -> tuple[str, int]:
    """Parse an address to listen on. The host is the loopback interface unless given."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 0xFFFF):
        raise click.BadParameter(
            f"{text!r} is not an address to listen on: write host:port or a port", param_hint=option
        )
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)


def _broker(text: str, option: str) -> Endpoint:
    from kwire.protocol import Endpoint

    try:
        return Endpoint.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _api_keys(texts: tuple[str, ...], dialect: Dialect | None) -> frozenset[tuple[str, int]]:
    """Return the dialects and API keys that `--api` names."""
    dialects = DIALECTS if dialect is None else (dialect,)
    api_keys: set[tuple[str, int]] = set()
    for name in (name.strip() for text in texts for name in text.split(",")):
        if name.isascii() and name.isdigit():
            api_keys |= {(dialect, int(name)) for dialect in dialects}
            continue
        unknown = None
        matches: set[tuple[str, int]] = set()
        for candidate in dialects:
            try:
                matches |= {(candidate, cls.api_key) for cls in find_all_by_name(name, candidate) if cls.api_key >= 0}
            except UnknownName as error:
                unknown = unknown or error
        if not matches:
            raise click.BadParameter(str(unknown or f"{name} is not an API"), param_hint="--api")
        api_keys |= matches
    return frozenset(api_keys)


async def _sniff(
    routes: tuple[Route, ...], dialect: Dialect | None, shown: Filter, options: SniffOptions, count: int | None
) -> int:
    import asyncio

    from kwire.cli.sniffer import Clock, ConnectionSniffer, Printer, SniffedConnection, SniffedQueue
    from kwire.client.relay import Relay
    from kwire.messages import every

    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    queue, clock, connections = SniffedQueue(), Clock(), numbers(1)

    def observe(client: Endpoint, broker: Endpoint) -> ConnectionSniffer:
        return ConnectionSniffer(SniffedConnection(next(connections), client, broker), queue, clock, shown, dialect)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    every()  # import all messages now, because the first connection would have to wait for it
    relays: list[Relay] = []
    try:
        for route in routes:
            relay = Relay(route.broker, observe)
            try:
                address = await relay.listen(route.host, route.port)
            except OSError as error:
                # asyncio repeats the address in its text.
                reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
                raise click.ClickException(f"cannot listen on {route.host}:{route.port}: {reason}") from None
            relays.append(relay)
            print(f"listening on {address}, forwarding to {route.broker}", file=sys.stderr)
        if options.output == "table":
            print(options.paint("title", table_heading()), flush=True)

        def finished() -> None:
            loop.call_soon_threadsafe(stopped.set)

        printer = Printer(queue, text_of(options), dropped_text(options), count, finished)
        printer.start()
        await stopped.wait()
    finally:
        for relay in relays:
            await relay.close()
        queue.close()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)  # another signal ends the output at once
    printer.drain()
    if printer.error is not None:
        raise printer.error
    if queue.dropped:
        print(f"{queue.dropped} exchanges were not shown: the output was too slow", file=sys.stderr)
    if printer.is_alive():
        print("the last exchanges were not shown: the output is blocked", file=sys.stderr)
        return EXIT_INVALID_INPUT
    return 0
