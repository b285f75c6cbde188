"""Kerberos tickets for GSSAPI, through the package `gssapi` (extra `kerberos`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kwire.protocol.sasl.gssapi import GssapiMechanism
from kwire.protocol.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KerberosContext", "start_gssapi"]


def start_gssapi(service: str, host: str, principal: str | None, keytab: str | None) -> GssapiMechanism:
    """Return a mechanism for one authentication at a broker. It may read files and contact the key distribution center.

    Args:
        service: the first part of the principal of the brokers.
        host: the second part: the host name of the broker.
        principal: the principal of the client; None for that of the ticket cache.
        keytab: the file with its key; None for the ticket cache.

    Raises:
        SaslError: the package is not installed, or a ticket is missing.
    """
    try:
        import gssapi
    except ImportError:
        raise SaslError("GSSAPI needs the package gssapi: pip install 'kwire[kerberos]'") from None
    library: Any = gssapi
    if keytab is not None and not os.access(keytab, os.R_OK):  # the library only reports a missing principal
        raise SaslError(f"cannot read the keytab {keytab}")

    def initiate() -> Any:
        name = None
        if principal is not None:
            name = library.Name(principal, library.NameType.kerberos_principal)
        store = None if keytab is None else {"client_keytab": keytab}
        credentials = library.Credentials(name=name, usage="initiate", store=store)
        target = library.Name(f"{service}@{host}", library.NameType.hostbased_service)
        return library.SecurityContext(name=target, creds=credentials, usage="initiate")

    return GssapiMechanism(KerberosContext(_checked(initiate)), principal)


class KerberosContext:
    """A security context of the package `gssapi`, with SaslError in place of its errors."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def step(self, token: bytes | None) -> bytes | None:
        """Process a token of the broker and return the next token, if any."""
        result: bytes | None = _checked(lambda: self._context.step(token))
        return result

    @property
    def complete(self) -> bool:
        """Whether the context is established."""
        return bool(self._context.complete)

    def wrap(self, message: bytes) -> bytes:
        """Protect a message without encrypting it."""
        return bytes(_checked(lambda: self._context.wrap(message, encrypt=False)).message)

    def unwrap(self, message: bytes) -> bytes:
        """Verify a protected message and return its content."""
        return bytes(_checked(lambda: self._context.unwrap(message)).message)


def _checked(call: Callable[[], Any]) -> Any:
    """Call the library, and raise its errors as SaslError on one line."""
    from gssapi.exceptions import GSSError

    try:
        return call()
    except GSSError as error:
        raise SaslError(" ".join(str(error).split())) from None
