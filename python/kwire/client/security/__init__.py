"""Connections to secured brokers: TLS, SASL, and Kafka's own `client.properties`.

    from kwire.client import Connection, Poller
    from kwire.client.security import ClientProperties, ConnectionConfig, ScramCredentials, Secret, TlsConfig

    config = ClientProperties.load("client.properties").connection
    config = ConnectionConfig(
        tls=TlsConfig.from_files(ca="ca.pem"),
        sasl=ScramCredentials("alice", Secret(getpass()), mechanism="SCRAM-SHA-512"),
    )
    async with await Connection.open("broker-1:9093", config=config) as connection: ...
    async with Poller("broker-1:9093", config=config) as poller: ...

`docs/how-to/security.md` has an example for each mechanism.
"""

from __future__ import annotations

from kwire._util.secret import Secret
from kwire.client.connection_config import ConnectionConfig
from kwire.client.security.client_properties import ClientProperties
from kwire.client.security.credentials import (
    KerberosCredentials,
    OAuthBearerCredentials,
    PlainCredentials,
    SaslCredentials,
    ScramCredentials,
)
from kwire.client.security.errors import SecurityConfigError
from kwire.client.security.msk_iam import MskIamCredentials
from kwire.client.security.oauth_tokens import ClientCredentials, OAuthToken, TokenFile, TokenSource, UnsecuredToken
from kwire.client.security.tls import ClientCertificate, TlsConfig

__all__ = [
    "ClientCertificate",
    "ClientCredentials",
    "ClientProperties",
    "ConnectionConfig",
    "KerberosCredentials",
    "MskIamCredentials",
    "OAuthBearerCredentials",
    "OAuthToken",
    "PlainCredentials",
    "SaslCredentials",
    "ScramCredentials",
    "Secret",
    "SecurityConfigError",
    "TlsConfig",
    "TokenFile",
    "TokenSource",
    "UnsecuredToken",
]
