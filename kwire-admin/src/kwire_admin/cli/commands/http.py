"""`kafka http`: serve the administration of a cluster over HTTP."""

from __future__ import annotations

import sys

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.terminal.cluster_options import choose_checked, cluster_options
from kwire.terminal.options import interval_option, require
from kwire_admin.cli.server_options import gold_option, http_options, past_incidents, run_server, server_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp


@click.command(params=[option for option in cluster_options() if option.name not in ("output", "debug")])
@server_options("127.0.0.1:8080")
@click.option(
    "--anonymous",
    type=click.Choice(["none", "read", "change"]),
    default="read",
    show_default=True,
    help="Role of requests from this machine if there are no tokens.",
)
@click.option(
    "--new-token",
    metavar="NAME",
    help="Print a new token to stderr and its table for --tokens to stdout, and serve nothing.",
)
@click.option("--role", type=click.Choice(["read", "change"]), help="Role of --new-token  [default: read]")
@interval_option(description="Time between two polls of a broker while a client reads the changes.", least=0.05)
@gold_option
def http(
    anonymous: str,
    interval: float,
    gold: str | None,
    new_token: str | None,
    role: str | None,
    **options: Any,
) -> int:
    """Serve a REST API and a web page about one cluster.

    The page is at /, the description of the interface at /openapi.json. Verbs that read are GET requests such as
    /api/v1/topics/list. The others are POST requests with a JSON object.

    \b
    Examples:
      kwire http -b localhost:9092
      kwire http -b localhost:9092 --anonymous change
      kwire http --new-token grafana
      kwire http -c prod --listen 0.0.0.0:8443 --tokens tokens.toml --certificate server.pem

    \b
    A file of tokens has a table for each:
      [tokens.grafana]
      role = "read"
      sha256 = "..."    # of the token; or token = "..."
      [certificates."CN=alice,O=example"]    # with --client-authority
      role = "change"

    Exit codes: 0 stopped by a signal, 1 cannot listen, 2 wrong usage.
    """
    if role is not None and new_token is None:
        raise click.UsageError("--role requires --new-token")
    if new_token is not None:
        return _print_new_token(new_token, role or "read")
    require("prometheus_client", "http")
    incidents = past_incidents(gold)
    chosen = choose_checked(options, "kwire-http")
    checked = http_options(extra="http", anonymous=anonymous, **options)
    from kwire_admin.http.application import application
    from kwire_admin.http.change_feed import ChangeFeed

    feed = ChangeFeed(chosen.bootstrap, interval, chosen.config)

    def create(connections: Callable[[], int]) -> ASGIApp:
        return application(
            chosen, feed, checked.tokens, checked.anonymous, incidents=incidents, connections=connections
        )

    run_server(create, checked, chosen.bootstrap, feed.close)
    return 0


def _print_new_token(name: str, role: str) -> int:
    require("starlette", "http")
    from kwire_admin.http.access import HttpRole
    from kwire_admin.http.access import new_token as generate_token

    text, table = generate_token(name, HttpRole(role))
    print(table, end="")
    print(f"The token of {name}, which is not stored anywhere: {text}", file=sys.stderr)
    return 0
