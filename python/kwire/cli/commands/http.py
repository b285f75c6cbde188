"""`kafka http`: serve the administration of a cluster over HTTP."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import click

from kwire._util.ready_file import prepare
from kwire.cli.cluster import choose_cluster, cluster_options, merge, with_environment
from kwire.cli.options import file_option, interval_option, ready_file_option, require
from kwire.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.cli.cluster import ClusterChoice
    from kwire.http.access import CertificateRole, Token


@click.command(params=[option for option in cluster_options() if option.name not in ("output", "debug")])
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    help="Address to listen on; port 0 is a free one. Other addresses than loopback require --tokens.",
)
@file_option(
    "--tokens", description="TOML file with the tokens or certificates that requests must have, and their roles."
)
@click.option(
    "--anonymous",
    type=click.Choice(["none", "read", "change"]),
    default="read",
    show_default=True,
    help="HttpRole of requests from this machine if there are no tokens.",
)
@file_option("--certificate", description="Serve HTTPS with this PEM certificate chain.")
@file_option("--key", description="PEM private key  [default: that in --certificate]")
@file_option("--client-authority", description="Accept client certificates of this PEM authority.")
@click.option(
    "--new-token",
    metavar="NAME",
    help="Print a new token to stderr and its table for --tokens to stdout, and serve nothing.",
)
@click.option("--role", type=click.Choice(["read", "change"]), help="HttpRole of --new-token  [default: read]")
@interval_option(description="Time between two polls of a broker while a client reads the changes.", least=0.05)
@click.option(
    "--gold",
    metavar="FOLDER",
    help="Show past incidents from this folder or URI, which kwire pipeline writes  [needs the extra report]",
)
@ready_file_option("url and pid", "the server listens")
def http(
    listen: str,
    tokens: Path | None,
    anonymous: str,
    certificate: Path | None,
    key: Path | None,
    client_authority: Path | None,
    interval: float,
    gold: str | None,
    ready_file: Path | None,
    new_token: str | None,
    role: str | None,
    **cluster: Any,
) -> int:
    """Serve administration over HTTP: verbs as JSON, changes, and a live page.

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
    for module in ("starlette", "uvicorn", "prometheus_client"):
        require(module, "http")
    if gold is not None:
        require("deltalake", "report")
    from kwire.http.access import HttpRole
    from kwire.http.access import new_token as generate_token
    from kwire.http.cluster_access import ServedCluster
    from kwire.http.server import HttpOptions, UnsafeAddress, escape_control_characters, parse_address, serve

    if role is not None and new_token is None:
        raise click.UsageError("--role requires --new-token")
    if new_token is not None:
        token = generate_token(new_token, HttpRole(role or "read"))
        print(token.table, end="")
        print(f"The token of {new_token}, which is not stored anywhere: {token.text}", file=sys.stderr)
        return 0
    if key is not None and certificate is None:
        raise click.UsageError("--key requires --certificate")
    chosen = _choose(cluster)
    try:
        Endpoint.parse_all(chosen.bootstrap)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--bootstrap") from None
    try:
        options = HttpOptions(
            parse_address(listen),
            _tokens(tokens),
            HttpRole(anonymous),
            certificate,
            key,
            interval,
            ready_file,
            client_authority,
            gold,
        )
        options.check()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if options.tokens and certificate is None:
        print("Warning: tokens are sent without encryption: give --certificate, or use a proxy", file=sys.stderr)
    if ready_file is not None:
        prepare(ready_file)
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(escape_control_characters)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", handlers=[handler])
    for noisy in ("uvicorn", "kwire.client"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    served = ServedCluster(
        chosen.bootstrap,
        chosen.config,
        "kwire-http" if chosen.client_id == "kwire-admin" else chosen.client_id,
        chosen.timeout,
        chosen.cluster_id,
        chosen.read_only,
        chosen.name if chosen.type_name else None,
    )
    try:
        serve(served, options, lambda url: print(f"Serving {chosen.bootstrap} at {url}", file=sys.stderr, flush=True))
    except UnsafeAddress as error:
        raise click.UsageError(str(error)) from None
    return 0


def _choose(cluster: dict[str, Any]) -> ClusterChoice:
    chosen = with_environment(merge(click.get_current_context().obj or {}, cluster))
    return choose_cluster(**{name: chosen[name] for name in chosen if name not in ("debug", "output")})


def _tokens(file: Path | None) -> list[Token | CertificateRole]:
    """Return the tokens of a file, after a warning if all users of the machine can read it."""
    if file is None:
        return []
    from kwire.client.security.client_properties import mode_warnings
    from kwire.http.access import read_tokens

    tokens = read_tokens(file)
    for warning in mode_warnings(file):
        print(f"Warning: {warning}", file=sys.stderr)
    return tokens
