"""Secured listeners for real clusters: TLS, SASL, and an authorizer.

    security = ClusterSecurity()
    with Kafka44(security=security) as cluster:
        cluster.bootstrap                       # the listener with SASL over TLS
        cluster.listener("SSL")                 # the others: SSL, SASL_PLAINTEXT
        security.config("SCRAM-SHA-512")        # a ConnectionConfig of the super user
        security.properties("SCRAM-SHA-512")    # the same as Kafka's client properties

Every broker has three listeners. The brokers and the probe that waits for a cluster use SASL over TLS as well. Until
ACLs are created, only super users may do anything: the user `admin`, and the holder of a client certificate for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING

from kwire._util.properties import format_properties
from kwire.client.security import (
    ClientCertificate,
    ConnectionConfig,
    OAuthBearerCredentials,
    PlainCredentials,
    ScramCredentials,
    Secret,
    TlsConfig,
    UnsecuredToken,
)
from tests.real_kafka.certificates import CertificateAuthority, IssuedCertificate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kwire.client.security.credentials import SaslCredentials

__all__ = ["LISTENERS", "ClusterSecurity"]

LISTENERS = ("SASL_SSL", "SSL", "SASL_PLAINTEXT")
"""Listeners have the names of their security protocols. Brokers and `Cluster.bootstrap` use the first one."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
ADMIN = "admin"
_KAFKA = "org.apache.kafka.common.security"
_MODULES = {
    "PLAIN": f"{_KAFKA}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_KAFKA}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_KAFKA}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule",
}


@dataclass(kw_only=True)
class ClusterSecurity:
    """The certificates and users of a cluster.

    OAUTHBEARER accepts tokens without a signature, as Kafka does in development.

    Attributes:
        authority: issues the certificates of brokers and clients.
        broker_certificate: the certificate of all brokers.
        users: passwords by user name, for PLAIN; the users of SCRAM are created when the cluster has started.
        listeners: certificates of further listeners with TLS, by the name of the listener, such as an expired one.
        reauthenticate_ms: `connections.max.reauth.ms`; 0 for sessions without a limit.
    """

    authority: CertificateAuthority = field(default_factory=CertificateAuthority)
    broker_certificate: IssuedCertificate | None = None
    users: Mapping[str, Secret] = field(
        default_factory=lambda: {ADMIN: Secret("admin-password"), "alice": Secret("alice-password")}
    )
    listeners: Mapping[str, IssuedCertificate] = field(default_factory=dict)
    reauthenticate_ms: int = 0

    def __post_init__(self) -> None:
        self.client_certificate = self.authority.issue(ADMIN)
        if self.broker_certificate is None:
            self.broker_certificate = self.authority.issue("broker")
        self._token_key = Secret(token_hex(16))

    def tls(self, *, certificate: IssuedCertificate | None = None) -> TlsConfig:
        """Return the TLS configuration of a client that trusts the authority, with a certificate if one is given."""
        own = None if certificate is None else ClientCertificate(certificate.chain, Secret(certificate.key))
        return TlsConfig(ca=self.authority.certificate, certificate=own)

    def config(
        self, mechanism: str | None = "SCRAM-SHA-512", *, user: str = ADMIN, tls: bool = True
    ) -> ConnectionConfig:
        """Return the configuration of a client.

        Args:
            mechanism: the SASL mechanism; None for the listener SSL, with a client certificate for `admin`.
            user: the user name.
            tls: True if the listener has TLS.
        """
        if mechanism is None:
            return ConnectionConfig(tls=self.tls(certificate=self.client_certificate))
        return ConnectionConfig(tls=self.tls() if tls else None, sasl=self._credentials(mechanism, user))

    def _credentials(self, mechanism: str, user: str) -> SaslCredentials:
        match mechanism:
            case "PLAIN":
                return PlainCredentials(user, self.users[user])
            case "OAUTHBEARER":
                return OAuthBearerCredentials(UnsecuredToken(claims=(("sub", user),)))
            case "SCRAM-SHA-256":
                return ScramCredentials(user, self.users[user], mechanism="SCRAM-SHA-256")
        return ScramCredentials(user, self.users[user], mechanism="SCRAM-SHA-512")

    def properties(self, mechanism: str | None, *, user: str = ADMIN, tls: bool = True) -> dict[str, str]:
        """Return the same configuration as Kafka's client properties."""
        properties: dict[str, str] = {}
        if tls:
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": self.authority.certificate}
        if mechanism is None:
            properties |= {
                "security.protocol": "SSL",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": self.client_certificate.chain,
                "ssl.keystore.key": self.client_certificate.key,
            }
        else:
            properties |= {
                "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": self._jaas(mechanism, user),
            }
        return properties

    def _jaas(self, mechanism: str, user: str) -> str:
        if mechanism == "OAUTHBEARER":
            return f'{_MODULES[mechanism]} required unsecuredLoginStringClaim_sub="{user}";'
        return f'{_MODULES[mechanism]} required username="{user}" password="{self.users[user].reveal()}";'

    def write_properties(self, path: Path, mechanism: str | None, *, user: str = ADMIN, tls: bool = True) -> Path:
        """Write the client properties to a file that only the owner can read."""
        path.touch(mode=0o600)
        path.write_text(format_properties(self.properties(mechanism, user=user, tls=tls)), encoding="ascii")
        return path

    def broker_properties(self, listeners: tuple[str, ...]) -> dict[str, str]:
        """Return the properties of a broker, but for its addresses and its authorizer.

        Args:
            listeners: the names of the listeners with SASL.
        """
        assert self.broker_certificate is not None, "set by __post_init__"
        properties = {
            "security.inter.broker.protocol": "SASL_SSL",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "connections.max.reauth.ms": str(self.reauthenticate_ms),
            "ssl.client.auth": "requested",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": self.broker_certificate.chain,
            "ssl.keystore.key": self.broker_certificate.key,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self.authority.certificate,
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
            "super.users": f"User:{ADMIN}",
            "delegation.token.secret.key": self._token_key.reveal(),
        }
        for name, certificate in self.listeners.items():
            prefix = f"listener.name.{name.lower()}"
            properties[f"{prefix}.ssl.keystore.certificate.chain"] = certificate.chain
            properties[f"{prefix}.ssl.keystore.key"] = certificate.key
        passwords = " ".join(f'user_{user}="{password.reveal()}"' for user, password in self.users.items())
        # Every listener needs all mechanisms: JAAS entries of another listener are not used.
        for listener in listeners:
            prefix = f"listener.name.{listener.lower()}"
            for mechanism in MECHANISMS:
                value = f"{_MODULES[mechanism]} required;"
                if mechanism == "PLAIN":
                    value = f"{self._jaas('PLAIN', ADMIN)[:-1]} {passwords};"
                elif mechanism == "OAUTHBEARER":
                    value = self._jaas(mechanism, ADMIN)
                properties[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = value
        return properties
