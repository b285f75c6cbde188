"""Kerberos tickets for GSSAPI, through the package `gssapi` (extra `kerberos`)."""

from __future__ import annotations

import os
from pathlib import Path

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.protocol.sasl.gssapi import GssapiMechanism
from kwire.protocol.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from collections.abc import Callable


def start_gssapi(service: str, host: str, principal: str | None, keytab: str | None) -> GssapiMechanism:
    """Return a mechanism for one authentication at a broker. It may read files and contact the key distribution center.

    Args:
        service: the first part of the principal of the brokers.
        host: the second part: the host name of the broker.
        principal: the principal of the client; None for the principal of the ticket cache.
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

    return GssapiMechanism(KerberosContext(_initiate(library, f"{service}@{host}", principal, keytab)), principal)


def _initiate(library: Any, target: str, principal: str | None, keytab: str | None) -> Any:
    """Return a security context with the ticket cache, or with a key from a keytab."""
    name = store = None
    hint = "run kinit"
    if principal is not None:
        name = _checked(lambda: library.Name(principal, library.NameType.kerberos_principal))
    if keytab is not None:
        store = {"client_keytab": keytab, "ccache": _ticket_cache(principal, keytab)}
        hint = f"the keytab {keytab} may lack a key of {principal or 'a principal'}"
    try:
        credentials = _checked(lambda: library.Credentials(name=name, usage="initiate", store=store))
    except SaslError as error:
        raise SaslError(f"{error} ({hint})") from None
    service = _checked(lambda: library.Name(target, library.NameType.hostbased_service))
    return _checked(lambda: library.SecurityContext(name=service, creds=credentials, usage="initiate"))


def _ticket_cache(principal: str | None, keytab: str) -> str:
    """Return the name of the ticket cache of a key, in the memory of this process.

    The default cache may hold the ticket of another principal, as `kinit` left it, and must keep it.
    """
    return f"MEMORY:kwire/{principal or ''}/{Path(keytab).resolve()}"


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
        """True once the context is established."""
        return bool(self._context.complete)

    def wrap(self, message: bytes) -> bytes:
        """Protect a message without encrypting it."""
        return bytes(_checked(lambda: self._context.wrap(message, encrypt=False)).message)

    def unwrap(self, message: bytes) -> bytes:
        """Verify a protected message and return its content."""
        return bytes(_checked(lambda: self._context.unwrap(message)).message)


def _checked(call: Callable[[], Any]) -> Any:
    """Call the library, and raise its errors as SaslError on one line: what Kerberos says, else what GSSAPI says."""
    from gssapi.exceptions import GSSError

    try:
        return call()
    except GSSError as error:
        of_kerberos = error.min_code != 0
        reasons = error.get_all_statuses(error.min_code if of_kerberos else error.maj_code, not of_kerberos)
        raise SaslError(" ".join("; ".join(reasons).split())) from None
