"""Options of commands that serve HTTP: address, TLS, and tokens; and their run until a signal."""

from __future__ import annotations

import logging
import sys

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar
from kwire._util.ready_file import prepare
from kwire.terminal.options import file_option, ready_file_option, require

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from starlette.types import ASGIApp

    from kwire_admin.http.access import HttpCredential
    from kwire_admin.http.incidents import PastIncidents
    from kwire_admin.http.server import HttpOptions

__all__ = ["gold_option", "http_options", "past_incidents", "run_server", "server_options"]

Command = TypeVar("Command", bound="Callable[..., Any]")


def server_options(address: str) -> Callable[[Command], Command]:
    """Add `--listen`, `--tokens`, `--certificate`, `--key`, `--client-authority`, and `--ready-file`.

    Args:
        address: the default address.
    """

    def add(command: Command) -> Command:
        for option in (
            ready_file_option("url and pid", "the server listens"),
            file_option("--client-authority", description="Accept client certificates of this PEM authority."),
            file_option("--key", description="PEM private key  [default: the key in --certificate]"),
            file_option("--certificate", description="Serve HTTPS with this PEM certificate chain."),
            file_option(
                "--tokens",
                description="TOML file with the tokens or certificates that requests must have, and their roles.",
            ),
            click.option(
                "--listen",
                metavar="HOST:PORT",
                default=address,
                show_default=True,
                help="Address to listen on; port 0 is a free one. Other addresses than loopback require --tokens.",
            ),
        ):
            command = option(command)
        return command

    return add


gold_option = click.option(
    "--gold",
    metavar="FOLDER",
    help="Show past incidents from this folder or URI, which kwire pipeline writes  [needs the extra report]",
)


def past_incidents(gold: str | None) -> PastIncidents | None:
    """Return the incidents that `--gold` names.

    Raises:
        click.ClickException: the extra `report` is not installed.
    """
    if gold is None:
        return None
    require("deltalake", "report")
    from kwire_admin.http.incidents import PastIncidents

    return PastIncidents(gold)


def http_options(
    *,
    extra: str,
    listen: str,
    tokens: Path | None,
    certificate: Path | None,
    key: Path | None,
    client_authority: Path | None,
    ready_file: Path | None,
    anonymous: str = "read",
) -> HttpOptions:
    """Return the checked options of a server, given the values of `server_options`.

    Args:
        extra: the extra with the server's dependencies.
        anonymous: role of requests without a token if there are no tokens.

    Raises:
        click.UsageError: an option is invalid, or everybody could use the server.
    """
    for module in ("starlette", "uvicorn"):
        require(module, extra)
    from kwire_admin.http.access import HttpRole
    from kwire_admin.http.server import HttpOptions, parse_address

    if key is not None and certificate is None:
        raise click.UsageError("--key requires --certificate")
    try:
        options = HttpOptions(
            parse_address(listen),
            _tokens(tokens),
            HttpRole(anonymous),
            certificate,
            key,
            ready_file,
            client_authority,
        )
        options.check()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if options.tokens and certificate is None:
        print("Warning: tokens are sent without encryption: give --certificate, or use a proxy", file=sys.stderr)
    if ready_file is not None:
        prepare(ready_file)
    return options


def run_server(
    create: Callable[[Callable[[], int]], ASGIApp],
    options: HttpOptions,
    subject: str,
    end_streams: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve an application until a signal, and log to stderr.

    Args:
        create: see `kwire_admin.http.server.serve`.
        subject: name of the served things, for the sentence with the address.
        end_streams: see `kwire_admin.http.server.serve`.

    Raises:
        click.UsageError: the certificate cannot be read.
    """
    from kwire_admin.http.server import UnsafeAddress, escape_control_characters, serve

    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(escape_control_characters)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", handlers=[handler])
    for noisy in ("uvicorn", "kwire.client"):
        logging.getLogger(noisy).setLevel(logging.WARNING)

    def started(url: str) -> None:
        print(f"Serving {subject} at {url}", file=sys.stderr, flush=True)

    try:
        serve(create, options, started, end_streams)
    except UnsafeAddress as error:
        raise click.UsageError(str(error)) from None


def _tokens(file: Path | None) -> list[HttpCredential]:
    """Return the tokens of a file, after a warning if all users of the machine can read it."""
    if file is None:
        return []
    from kwire.client.security.client_properties import mode_warnings
    from kwire_admin.http.access import read_tokens

    tokens = read_tokens(file)
    for warning in mode_warnings(file):
        print(f"Warning: {warning}", file=sys.stderr)
    return tokens
