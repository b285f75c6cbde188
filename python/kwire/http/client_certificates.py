"""The names of client certificates, which uvicorn does not pass to applications."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from kwire.cluster.security.certificate_names import distinguished_name

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["CERTIFICATE", "CertificateProtocol"]

CERTIFICATE = "certificate"
"""The key of the name of the verified certificate in the state of a request."""


class CertificateProtocol(H11Protocol):
    """A connection that adds the name of its client's certificate to the state of each request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate: dict[str, Any] | None = tls.getpeercert() if isinstance(tls, ssl.SSLObject) else None
        if certificate:
            self.app = _with_certificate(self.app, distinguished_name(certificate["subject"]))


def _with_certificate(app: ASGIApp, name: str) -> ASGIApp:
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})[CERTIFICATE] = name
        await app(scope, receive, send)

    return call
