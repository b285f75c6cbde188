"""The security of a node's listeners and of its connections to other nodes, from its settings."""

from __future__ import annotations

import re
import socket
import ssl
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

from kwire._util.secret import HIDDEN, Secret
from kwire.client.connection_config import ConnectionConfig
from kwire.client.security.errors import SecurityConfigError
from kwire.client.security.jaas import InvalidJaasConfig, parse_jaas
from kwire.client.security.sasl_properties import read_credentials
from kwire.client.security.tls import VERSIONS, load_certificate
from kwire.client.security.tls_properties import read_tls
from kwire.client.security.values import Values
from kwire.protocol.sasl_server import PlainServer, ScramServer
from kwire_cluster.config.node_settings import node_settings
from kwire_cluster.config.setting import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.client.security.tls import TlsConfig
    from kwire.protocol.sasl_server import ServerMechanism
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.security.sasl_authentication import ScramUsers

USER_OPTION = "user_"
"""The prefix of the options of PlainLoginModule that hold the passwords of users."""


class NodeSecurity:
    """TLS and SASL according to the settings of a node.

    Args:
        settings: the settings.
        users: the credentials of SCRAM.

    Attributes:
        client_protocol: the protocol of the listener for clients.
        broker_protocol: the protocol of the listener for nodes, which may be the same listener.
        tls: the context of listeners with TLS; None if no listener has it.
        mechanisms: makes a mechanism for one authentication, by name; empty if no listener has SASL.
        connection: the security of connections to other nodes.

    Raises:
        SettingError: a setting is invalid or missing, or a store cannot be read.
    """

    def __init__(self, settings: NodeSettings, users: ScramUsers) -> None:
        self.client_protocol = settings.protocol_of("listeners", settings.client_listener)
        has_own_listener = settings.broker_listen is not None
        self.broker_protocol = (
            settings.protocol_of("inter.broker.listener", settings.broker_listener)
            if has_own_listener
            else self.client_protocol
        )
        if settings.inter_broker_protocol not in (None, self.broker_protocol):
            raise SettingError(
                "security.inter.broker.protocol",
                settings.inter_broker_protocol or "",
                f"the listener for nodes has the protocol {self.broker_protocol}",
            )
        protocols = (self.client_protocol, self.broker_protocol)
        self._client_auth = settings.ssl_client_auth
        values = Values(_security_values(settings), None)
        try:
            tls = read_tls(values) if any(map(_has_tls, protocols)) else None
            self.tls = _server_context(tls, settings.ssl_client_auth) if tls is not None else None
            self.mechanisms = _mechanisms(settings, values, users) if any(map(has_sasl, protocols)) else {}
            self.connection = ConnectionConfig(
                tls=tls if _has_tls(self.broker_protocol) else None,
                sasl=read_credentials(_client_values(settings, values)) if has_sasl(self.broker_protocol) else None,
            )
        except SecurityConfigError as error:
            problem = SettingError(error.key or "security.inter.broker.protocol", "", error.problem)
        else:
            return
        raise problem  # without the frames that hold values

    def tls_of(self, protocol: str) -> ssl.SSLContext | None:
        """Return the context of a listener; None for one without TLS."""
        return self.tls if _has_tls(protocol) else None

    def authenticates(self, protocol: str) -> bool:
        """Return whether the clients of a listener must authenticate."""
        return has_sasl(protocol) or (_has_tls(protocol) and self._client_auth == "required")


def check_reachability(name: str, host: str) -> None:
    """Check that only this machine can reach a listener without authentication.

    Raises:
        SettingError: another machine can.
    """
    try:
        addresses = {address[4][0] for address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return  # listening will fail with the reason
    if not all(ip_address(str(address).partition("%")[0]).is_loopback for address in addresses):
        raise SettingError(
            name,
            host,
            "other machines can reach this address without authentication: choose SASL or ssl.client.auth=required, or"
            " set listener.allow.anonymous=true",
        )


def has_sasl(protocol: str) -> bool:
    """Return whether a protocol has SASL."""
    return protocol.startswith("SASL_")


def _has_tls(protocol: str) -> bool:
    return protocol.endswith("SSL")


def _security_values(settings: NodeSettings) -> dict[str, Secret]:
    """Return the settings of TLS and SASL, under Kafka's names."""
    values = {}
    for name, declared in node_settings().items():
        value = getattr(settings, declared.attribute)
        if re.match(r"(ssl|sasl|plain)\.", name) and isinstance(value, str | Secret):
            values[name] = value if isinstance(value, Secret) else Secret(value)
    return values


def _client_values(settings: NodeSettings, values: Values) -> Values:
    """Return the values that a client with the node's own credentials would have."""
    mechanism = settings.sasl_inter_broker_mechanism or settings.sasl_mechanisms[0]
    jaas = values.secret("sasl.jaas.config")
    if jaas is None and mechanism == "PLAIN":
        jaas = values.secret("plain.sasl.jaas.config")
    return Values({"sasl.mechanism": Secret(mechanism), "sasl.jaas.config": jaas or Secret("")}, None)


def _server_context(tls: TlsConfig, client_auth: str) -> ssl.SSLContext:
    """Return the context of listeners.

    Raises:
        SecurityConfigError: the node has no certificate, or nothing to verify the certificates of clients with.
    """
    if tls.certificate is None:
        raise SecurityConfigError("ssl.keystore.location", "is missing: a listener with TLS needs a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    enabled = [VERSIONS[version] for version in tls.versions]
    context.minimum_version, context.maximum_version = min(enabled), max(enabled)
    load_certificate(context, tls.certificate)
    if client_auth != "none":
        if tls.ca is None:
            raise SecurityConfigError(
                "ssl.truststore.location", f"is missing: ssl.client.auth={client_auth} needs trusted certificates"
            )
        context.load_verify_locations(cadata=tls.ca)
        context.verify_mode = ssl.CERT_REQUIRED if client_auth == "required" else ssl.CERT_OPTIONAL
    return context


def _mechanisms(
    settings: NodeSettings, values: Values, users: ScramUsers
) -> Mapping[str, Callable[[], ServerMechanism]]:
    """Return the enabled mechanisms.

    Raises:
        SecurityConfigError: there are none, or PLAIN has no users.
    """
    if not settings.sasl_mechanisms:
        raise SecurityConfigError("sasl.enabled.mechanisms", "is missing: a listener with SASL needs a mechanism")
    mechanisms: dict[str, Callable[[], ServerMechanism]] = {}
    for name in settings.sasl_mechanisms:
        match name:
            case "PLAIN":
                mechanisms[name] = partial(PlainServer, _plain_users(values))
            case "SCRAM-SHA-256" | "SCRAM-SHA-512":
                mechanisms[name] = partial(ScramServer, name, users.finder(name), users.decoys(name))
    return mechanisms


def _plain_users(values: Values) -> Mapping[str, Secret]:
    key = "plain.sasl.jaas.config"
    text = values.secret(key)
    if text is None:
        key = "sasl.jaas.config"
        text = values.secret(key)
    if text is None:
        raise SecurityConfigError(key, "is missing: PLAIN needs the users")
    try:
        entry = parse_jaas(text)
    except InvalidJaasConfig as error:
        raise SecurityConfigError(key, str(error)) from None
    users = {
        name.removeprefix(USER_OPTION): password
        for name, password in entry.options.items()
        if name.startswith(USER_OPTION)
    }
    if entry.module_name != "PlainLoginModule" or not users:
        raise SecurityConfigError(key, f'expected PlainLoginModule with users such as user_alice="{HIDDEN}"')
    return users
