"""Authentication of clients: by SASL, by certificate, or not at all."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

from kwire.authorization.subjects import ANONYMOUS, Subject, distinguished_name
from kwire_cluster.config.principal_mapping import DEFAULT_RULES, mapped_name
from kwire_cluster.node.logs import logger
from kwire_cluster.security.sasl_authentication import SaslAuthentication

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kwire._util.guess_limit import GuessLimit
    from kwire.protocol.sasl_server import ServerMechanism
    from kwire_cluster.config.principal_mapping import PrincipalRule
    from kwire_cluster.node.listener.connection_limits import ConnectedClient

log = logger("kwire.node.authentication")


def identify_by_connection(
    client: ConnectedClient, transport: asyncio.BaseTransport, rules: Iterable[PrincipalRule] = DEFAULT_RULES
) -> None:
    """Set the subject of a client: the subject of its certificate, or User:ANONYMOUS.

    Args:
        rules: map the name in the certificate. If no rule matches it, the connection is closed.
    """
    tls = transport.get_extra_info("ssl_object")
    certificate: dict[str, Any] | None = tls.getpeercert() if isinstance(tls, ssl.SSLObject) else None
    name = distinguished_name(certificate["subject"]) if certificate else ""
    if not name:
        client.subject = Subject(ANONYMOUS, client.host)
        return
    mapped = mapped_name(name, rules)
    if mapped:
        client.subject = Subject(f"User:{mapped}", client.host)
        return
    log.warning("no rule of ssl.principal.mapping.rules matches a certificate", peer=client.address, subject=name)
    client.subject = Subject(ANONYMOUS, client.host)
    if isinstance(transport, asyncio.Transport):
        transport.abort()


def identify_by_sasl(
    mechanisms: Mapping[str, Callable[[], ServerMechanism]], guesses: GuessLimit
) -> Callable[[ConnectedClient, asyncio.BaseTransport], None]:
    """Return a function that makes clients authenticate before anything else.

    Args:
        mechanisms: makes a mechanism for one authentication, by name.
        guesses: counts wrong passwords.
    """

    def identify(client: ConnectedClient, transport: asyncio.BaseTransport) -> None:
        del transport
        client.authentication = SaslAuthentication(mechanisms, guesses, client.host)

    return identify
