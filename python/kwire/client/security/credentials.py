"""Credentials: what a client proves to brokers, and the mechanism that does it.

A mechanism object serves one authentication; `start` makes it, and fetches a token or a ticket if it needs one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.secret import Secret
from kwire.protocol.sasl.mechanism import PlainMechanism
from kwire.protocol.sasl.oauthbearer import OAuthBearerMechanism
from kwire.protocol.sasl.scram import ScramMechanism
from kwire.protocol.scram_passwords import HASHES, ScramName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.security.oauth_tokens import TokenSource
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.sasl import SaslMechanism


class SaslCredentials(ABC):
    """The base class of credentials."""

    __slots__ = ()

    @abstractmethod
    async def start(self, endpoint: Endpoint) -> SaslMechanism:
        """Return a new mechanism object for an authentication at a broker.

        Raises:
            SaslError: a token or ticket cannot be obtained.
        """

    @property
    @abstractmethod
    def sasl_mechanism(self) -> str:
        """The value of Kafka's `sasl.mechanism`."""


def _check_secret(name: str, value: object) -> None:
    if not isinstance(value, Secret):
        raise TypeError(f"{name} must be a Secret, not {type(value).__name__}: write Secret(...)")


@dataclass(frozen=True, slots=True)
class PlainCredentials(SaslCredentials):
    """A user name and a password for PLAIN, which sends both in clear text: use TLS."""

    sasl_mechanism: ClassVar[str] = "PLAIN"
    username: str
    password: Secret

    def __post_init__(self) -> None:
        _check_secret("password", self.password)

    async def start(self, endpoint: Endpoint) -> PlainMechanism:
        del endpoint
        return PlainMechanism(self.username, self.password)


@dataclass(frozen=True, slots=True)
class ScramCredentials(SaslCredentials):
    """A user name and a password for SCRAM, which proves the password without sending it.

    Attributes:
        mechanism: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        token: True to log in with a delegation token (KIP-48): its id is the user name, its HMAC the password.
    """

    username: str
    password: Secret
    mechanism: ScramName = "SCRAM-SHA-512"
    token: bool = False

    def __post_init__(self) -> None:
        _check_secret("password", self.password)
        if self.mechanism not in HASHES:
            raise ValueError(f"unknown mechanism {self.mechanism!r}: expected {' or '.join(HASHES)}")

    @property
    def sasl_mechanism(self) -> str:
        return self.mechanism

    async def start(self, endpoint: Endpoint) -> ScramMechanism:
        del endpoint
        return ScramMechanism(self.mechanism, self.username, self.password, token=self.token)


@dataclass(frozen=True, slots=True)
class OAuthBearerCredentials(SaslCredentials):
    """A bearer token for OAUTHBEARER.

    Attributes:
        source: returns a valid token for each authentication: a coroutine function, such as a callback of your own, or
            a `ClientCredentials`.
        extensions: names and values that are sent with the token (KIP-342).
    """

    sasl_mechanism: ClassVar[str] = "OAUTHBEARER"
    source: TokenSource
    extensions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    async def start(self, endpoint: Endpoint) -> OAuthBearerMechanism:
        del endpoint
        token = await self.source()
        return OAuthBearerMechanism(token.value, self.extensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosCredentials(SaslCredentials):
    """A Kerberos ticket for GSSAPI, through the package `gssapi` (extra `kerberos`).

    Attributes:
        service: the first part of the principal of the brokers (`sasl.kerberos.service.name`).
        principal: the principal of the client; None for the principal of the ticket cache.
        keytab: the file with the key of the client; None for the ticket cache that `kinit` fills.
    """

    sasl_mechanism: ClassVar[str] = "GSSAPI"
    service: str = "kafka"
    principal: str | None = None
    keytab: str | None = None

    async def start(self, endpoint: Endpoint) -> SaslMechanism:
        import asyncio

        from kwire.client.security.kerberos import start_gssapi

        # The library reads files and may contact the key distribution center.
        return await asyncio.to_thread(start_gssapi, self.service, endpoint.server_name, self.principal, self.keytab)
