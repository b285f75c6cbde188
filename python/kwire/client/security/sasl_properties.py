"""The keys `sasl.*` of a client configuration."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kwire._util.light_typing import TYPE_CHECKING, Literal
from kwire._util.secret import Secret
from kwire._util.text_files import EncodingError, read_text
from kwire.client.security.credentials import (
    KerberosCredentials,
    OAuthBearerCredentials,
    PlainCredentials,
    ScramCredentials,
)
from kwire.client.security.errors import SecurityConfigError
from kwire.client.security.jaas import InvalidJaasConfig, JaasEntry, jaas_file, parse_jaas, parse_jaas_file
from kwire.client.security.known_keys import KNOWN_OPTIONS, OPTION_PREFIXES
from kwire.client.security.oauth_tokens import ClientCredentials, TokenFile, UnsecuredToken
from kwire.client.security.tls_properties import read_tls
from kwire.client.security.values import Values, check_characters

if TYPE_CHECKING:
    from kwire.client.security.credentials import SaslCredentials
    from kwire.client.security.oauth_tokens import TokenSource
    from kwire.protocol.scram_passwords import ScramName

JAAS = "sasl.jaas.config"
CONTEXT = "KafkaClient"
"""The context of clients in a JAAS file."""
IAM_HANDLER = "IAMOAuthBearerLoginCallbackHandler"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
LOGIN_MODULES = {
    "GSSAPI": "Krb5LoginModule",
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    "AWS_MSK_IAM": "IAMLoginModule",
}


def read_credentials(values: Values) -> SaslCredentials:
    """Return the credentials.

    Raises:
        SecurityConfigError: a value is invalid or missing.
    """
    mechanism = values.text("sasl.mechanism") or "GSSAPI"  # Kafka's default
    if mechanism not in LOGIN_MODULES:
        raise values.error("sasl.mechanism", f"{mechanism} is not supported: expected {', '.join(LOGIN_MODULES)}")
    entry = _entry(values, mechanism)
    _check_options(values, entry)
    match mechanism:
        case "GSSAPI":
            return _kerberos(values, entry)
        case "OAUTHBEARER":
            if (values.text("sasl.login.callback.handler.class") or "").endswith(f".{IAM_HANDLER}"):
                return _msk_iam(entry, "OAUTHBEARER")
            return _oauth(values, entry)
        case "AWS_MSK_IAM":
            return _msk_iam(entry, "AWS_MSK_IAM")
        case "PLAIN":
            return PlainCredentials(*_user(values, entry))
    token = _option(entry, "tokenauth") == "true"
    scram: ScramName = "SCRAM-SHA-256" if mechanism == "SCRAM-SHA-256" else "SCRAM-SHA-512"
    return ScramCredentials(*_user(values, entry), mechanism=scram, token=token)


def _entry(values: Values, mechanism: str) -> JaasEntry | None:
    text = values.secret(JAAS)
    if text is None:
        return _entry_of_file(values, mechanism)
    try:
        entry = parse_jaas(text)
    except InvalidJaasConfig as error:
        raise values.error(JAAS, str(error)) from None
    if entry.module_name != LOGIN_MODULES[mechanism]:
        given = values.text("sasl.mechanism")
        needed = f"sasl.mechanism={mechanism}" if given else f"sasl.mechanism is not set, and its default {mechanism}"
        raise values.error(JAAS, f"{needed} needs {LOGIN_MODULES[mechanism]}, not {entry.module_name}")
    return entry


def _entry_of_file(values: Values, mechanism: str) -> JaasEntry | None:
    """Return the login module in the JAAS file that Java's options name, as Kafka's JaasContext does."""
    path = jaas_file(os.environ)
    if path is None:
        return None
    try:
        entries = parse_jaas_file(Secret(read_text(Path(path))), CONTEXT)
    except OSError as error:
        problem = f"cannot read {path}, which KAFKA_OPTS names: {error.strerror}"
    except (EncodingError, InvalidJaasConfig) as error:
        problem = f"{path}, which KAFKA_OPTS names: {error}"
    else:
        for entry in entries:
            if entry.module_name == LOGIN_MODULES[mechanism]:
                return entry
        others = ", ".join(entry.module_name for entry in entries) or "none"
        problem = f"{path}, which KAFKA_OPTS names, has no {LOGIN_MODULES[mechanism]} in {CONTEXT}: it has {others}"
    raise values.error(JAAS, problem)


def _check_options(values: Values, entry: JaasEntry | None) -> None:
    """Warn of options of the login module that have no effect.

    Raises:
        SecurityConfigError: an option asks for another identity than kwire would use.
    """
    if entry is None:
        return
    known = KNOWN_OPTIONS[entry.module_name]
    prefixes = OPTION_PREFIXES if entry.module_name == LOGIN_MODULES["OAUTHBEARER"] else ()
    for option in entry.options:
        if option.startswith("awsRole"):
            problem = f"the option {option} is not supported: name the role in a profile of ~/.aws/config (role_arn)"
            raise values.error(JAAS, f"{problem}, and the profile in awsProfileName")
        if option not in known and not option.startswith(prefixes):
            values.warn(JAAS, f"the option {option} has no effect")


def _msk_iam(entry: JaasEntry | None, mechanism: Literal["OAUTHBEARER", "AWS_MSK_IAM"]) -> SaslCredentials:
    from kwire.client.security.msk_iam import MskIamCredentials

    region, profile = _option(entry, "awsStsRegion"), _option(entry, "awsProfileName")
    return MskIamCredentials(mechanism=mechanism, region=region, profile=profile)


def _option(entry: JaasEntry | None, name: str) -> str | None:
    """Return an option that may be shown."""
    value = None if entry is None else entry.options.get(name)
    return None if value is None else value.reveal()


def _user(values: Values, entry: JaasEntry | None) -> tuple[str, Secret]:
    if entry is None:
        expected = 'expected `...LoginModule required username="..." password="...";`, or a JAAS file in KAFKA_OPTS'
        raise values.error(JAAS, f"is missing: {expected}")
    username = entry.options.get("username")
    if not username:
        raise values.error(JAAS, "has no username")
    password = entry.options.get("password") or (values.password and values.password())
    if not password:
        raise values.error(JAAS, "has no password")
    check_characters(JAAS, password, values.source)
    return username.reveal(), password


def _kerberos(values: Values, entry: JaasEntry | None) -> KerberosCredentials:
    service = values.text("sasl.kerberos.service.name") or _option(entry, "serviceName")
    if service is None:
        raise values.error("sasl.kerberos.service.name", "is missing: it is the first part of the brokers' principal")
    keytab = _option(entry, "keyTab") if _option(entry, "useKeyTab") == "true" else None
    return KerberosCredentials(service=service, principal=_option(entry, "principal"), keytab=keytab)


def _oauth(values: Values, entry: JaasEntry | None) -> OAuthBearerCredentials:
    options = {} if entry is None else entry.options
    extensions = {
        name.removeprefix("extension_"): value.reveal()
        for name, value in options.items()
        if name.startswith("extension_")
    }
    return OAuthBearerCredentials(_token_source(values, entry), extensions)


def _token_source(values: Values, entry: JaasEntry | None) -> TokenSource:
    url = values.text(ENDPOINT)
    if url is None:
        claims = _unsecured_claims(values, entry)
        if claims:
            return UnsecuredToken(claims=claims)
        raise values.error(ENDPOINT, "is missing: it is the URL that issues tokens")
    if url.startswith("file:"):
        path = unquote(urlsplit(url).path)
        check_characters(ENDPOINT, Secret(path), values.source)
        return TokenFile(path)
    client_id = values.text("sasl.oauthbearer.client.credentials.client.id") or _option(entry, "clientId")
    secret = values.secret("sasl.oauthbearer.client.credentials.client.secret")
    if secret is None and entry is not None:
        secret = entry.options.get("clientSecret")
    if secret is None and values.password is not None:
        secret = values.password()
    if not client_id or not secret:
        name = "clientSecret" if client_id else "clientId"
        raise values.error(JAAS, f"has no {name}")
    check_characters(JAAS, secret, values.source)
    # As in Kafka, TLS options of the login module apply to the server of tokens, and options of the file to brokers.
    options = {} if entry is None else {name: value for name, value in entry.options.items() if name.startswith("ssl.")}
    try:
        return ClientCredentials(
            url=url,
            client_id=client_id,
            client_secret=secret,
            scope=values.text("sasl.oauthbearer.scope") or _option(entry, "scope"),
            tls=read_tls(Values(options, f"{JAAS} of {values.source}" if values.source else JAAS)) if options else None,
            timeout=values.seconds("sasl.login.connect.timeout.ms") or 10.0,
            urlencode=values.boolean("sasl.oauthbearer.header.urlencode", default=False),
        )
    except SecurityConfigError as error:
        raise values.error(error.key or ENDPOINT, error.problem) from None


def _unsecured_claims(values: Values, entry: JaasEntry | None) -> tuple[tuple[str, object], ...]:
    """Return the claims of Kafka's OAuthBearerUnsecuredLoginCallbackHandler: strings, numbers, and lists."""
    claims: list[tuple[str, object]] = []
    for name, secret in ({} if entry is None else entry.options).items():
        value = secret.reveal()
        # The name of an option holds the type of its claim: unsecuredLoginStringClaim_sub.
        for prefix, convert in (("String", str), ("Number", float), ("List", _parse_list)):
            claim = name.removeprefix(f"unsecuredLogin{prefix}Claim_")
            if claim != name:
                try:
                    claims.append((claim, convert(value)))
                except ValueError:
                    raise values.error(JAAS, f"the option {name} is not a number") from None
    return tuple(claims)


def _parse_list(text: str) -> list[str]:
    """Parse a list that is separated by its first character."""
    return text[1:].split(text[0]) if text else []
