"""How a client authenticates: by SASL, by its certificate, or not at all."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from kwire.cluster.security.certificate_names import distinguished_name
from kwire.cluster.security.sasl_authentication import SaslAuthentication
from kwire.cluster.security.subjects import ANONYMOUS, Subject

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from kwire.cluster.node.connection_limits import ConnectedClient
    from kwire.protocol.sasl_server import ServerMechanism


def identify_by_connection(client: ConnectedClient, transport: asyncio.BaseTransport) -> None:
    """Set the subject of a client to that of its certificate, or to User:ANONYMOUS."""
    tls = transport.get_extra_info("ssl_object")
    certificate: dict[str, Any] | None = tls.getpeercert() if isinstance(tls, ssl.SSLObject) else None
    name = distinguished_name(certificate["subject"]) if certificate else ""
    client.subject = Subject(f"User:{name}" if name else ANONYMOUS, client.host)


def identify_by_sasl(
    mechanisms: Mapping[str, Callable[[], ServerMechanism]],
) -> Callable[[ConnectedClient, asyncio.BaseTransport], None]:
    """Return a function that makes clients authenticate before anything else."""

    def identify(client: ConnectedClient, transport: asyncio.BaseTransport) -> None:
        del transport
        client.authentication = SaslAuthentication(mechanisms)

    return identify
