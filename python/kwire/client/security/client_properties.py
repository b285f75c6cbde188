"""Kafka's `client.properties`: the file that `--command-config` names.

Values can refer to others (KIP-297): `${env:NAME}`, `${file:PATH:KEY}`, `${dir:PATH:FILE}`. These are Kafka's
EnvVarConfigProvider, FileConfigProvider, and DirectoryConfigProvider under their usual names. They need no
`config.providers` here, which can give them other names. The text that a provider returns is not searched for further
references.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.properties import parse_properties, property_lines
from kwire._util.readable import counted
from kwire._util.secret import Secret
from kwire._util.text_files import EncodingError, read_properties, read_text
from kwire.client.connection_config import MAX_IDLE_S, ConnectionConfig
from kwire.client.security.errors import SecurityConfigError
from kwire.client.security.known_keys import (
    KAFKA_PLUGINS,
    LIBRDKAFKA,
    MSK_PLUGINS,
    PLUGINS,
    USED,
    WITHOUT_EFFECT,
    intended_key,
    is_known,
    is_secret_key,
)
from kwire.client.security.sasl_properties import read_credentials
from kwire.client.security.tls_properties import read_tls
from kwire.client.security.values import Values, check_characters
from kwire.protocol.endpoint import SECURITY_PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from os import PathLike

    from kwire.client.security.values import PasswordSource

log = logging.getLogger("kwire.client")

_REFERENCE = re.compile(r"\$\{([^}:]+):(?:([^}]*):)?([^}:]*)\}")
PROVIDERS = {
    "EnvVarConfigProvider": "env",
    "FileConfigProvider": "file",
    "DirectoryConfigProvider": "dir",
    **{name: name for name in ("env", "file", "dir")},
}
"""Names in references, by the class of Kafka and by themselves."""
SENT_SECRETS = {"PLAIN": "password", "OAUTHBEARER": "token", "AWS_MSK_IAM": "signature"}
"""The secret that a mechanism sends, with which every reader can authenticate."""
MECHANISM_KEYS = {"sasl.kerberos.": "GSSAPI", "sasl.oauthbearer.": "OAUTHBEARER", "sasl.login.con": "OAUTHBEARER"}
"""Beginnings of keys that have an effect on one mechanism."""
NEEDED_KEYS = {
    "ssl.key.password": ("ssl.keystore.location", "ssl.keystore.key"),
    "ssl.keystore.password": ("ssl.keystore.location",),
    "ssl.keystore.type": ("ssl.keystore.location", "ssl.keystore.key"),
    "ssl.truststore.password": ("ssl.truststore.location",),
    "ssl.truststore.type": ("ssl.truststore.location", "ssl.truststore.certificates"),
}
"""Keys without an effect unless one of others is set."""
HANDLER_HINTS = {
    "JaasClientOauthLoginCallbackHandler": "set sasl.oauthbearer.token.endpoint.url, and clientId and clientSecret in "
    "sasl.jaas.config, in place of the options of Strimzi's class",
}
"""Advice for well-known classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProperties:
    """The content of a file of client properties.

    Attributes:
        connection: TLS and SASL, and `connections.max.idle.ms`.
        bootstrap_servers: `bootstrap.servers`; None if not set.
        client_id: `client.id`; None if not set.
        request_timeout: `request.timeout.ms`, in seconds; None if not set.
        warnings: keys that are unknown or have no effect, and a file that others can read.
    """

    connection: ConnectionConfig
    bootstrap_servers: str | None = None
    client_id: str | None = None
    request_timeout: float | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        overrides: Mapping[str, str] | None = None,
        password: PasswordSource | None = None,
        warn: Callable[[str], object] = log.warning,
    ) -> ClientProperties:
        """Read a file in the grammar of Java's properties: Latin-1, or Unicode with a byte order mark.

        Args:
            overrides: properties that replace properties of the file.
            password: returns the password or client secret if `sasl.jaas.config` has none.
            warn: called with each of `warnings`; logs it by default.

        Raises:
            SecurityConfigError: the content is invalid or incomplete.
            OSError: the file cannot be read.
        """
        try:
            lines = [(key, Secret(value)) for key, value in property_lines(read_properties(Path(path)))]
        except EncodingError as error:
            raise SecurityConfigError(None, str(error), os.fspath(path)) from None
        values = dict(lines)
        _check_keys(tuple(values), os.fspath(path))
        _check_keys(tuple(overrides or ()), os.fspath(path))
        warnings = _repeated_keys(lines, os.fspath(path))
        warnings += mode_warnings(path) if any(map(is_secret_key, values)) else ()
        values |= {key: Secret(value) for key, value in (overrides or {}).items()}
        loaded = cls._from_secrets(values, source=os.fspath(path), password=password, warnings=warnings)
        for warning in loaded.warnings:
            warn(warning)
        return loaded

    @classmethod
    def parse(
        cls, properties: Mapping[str, str], *, source: str | None = None, password: PasswordSource | None = None
    ) -> ClientProperties:
        """Interpret properties under Kafka's names.

        Args:
            source: their origin, for errors and warnings.
            password: see `load`.

        Raises:
            SecurityConfigError: a value is invalid or missing, or a store or another file cannot be read.
        """
        _check_keys(tuple(properties), source)
        secrets = {key: Secret(value) for key, value in properties.items()}
        return cls._from_secrets(secrets, source=source, password=password)

    @classmethod
    def _from_secrets(
        cls,
        properties: Mapping[str, Secret],
        *,
        source: str | None,
        password: PasswordSource | None,
        warnings: tuple[str, ...] = (),
    ) -> ClientProperties:
        values = Values(_resolve(properties, source), source, password)
        # Empty is not absent: the variable of a template without a value must not drop TLS.
        protocol = (values.text("security.protocol") or "").upper() if "security.protocol" in values else "PLAINTEXT"
        if protocol not in SECURITY_PROTOCOLS:
            found = f", found {protocol!r}" if protocol else ", and it is empty"
            raise values.error("security.protocol", f"expected one of {', '.join(SECURITY_PROTOCOLS)}{found}")
        uses_tls, uses_sasl = protocol.endswith("SSL"), protocol.startswith("SASL_")
        tls = read_tls(values) if uses_tls else None
        sasl = read_credentials(values) if uses_sasl else None
        if sasl is not None and sasl.sasl_mechanism in SENT_SECRETS and not uses_tls:
            problem = f"{sasl.sasl_mechanism} sends the {SENT_SECRETS[sasl.sasl_mechanism]} in clear text without TLS"
            values.warn("security.protocol", f"{problem}: use SASL_SSL")
        _check_plugins(values, None if sasl is None else sasl.sasl_mechanism, uses_tls=uses_tls)
        _warn_of_keys(values, protocol, None if sasl is None else sasl.sasl_mechanism, uses_tls=uses_tls)
        return cls(
            connection=ConnectionConfig(tls=tls, sasl=sasl, max_idle=_max_idle(values)),
            bootstrap_servers=values.text("bootstrap.servers"),
            client_id=values.text("client.id"),
            request_timeout=values.seconds("request.timeout.ms"),
            warnings=(*warnings, *values.warnings),
        )


def _repeated_keys(lines: Sequence[tuple[str, Secret]], source: str) -> tuple[str, ...]:
    """Return a warning for each key with several values. Java's clients take the last value."""
    first: dict[str, Secret] = {}
    repeated = {key: None for key, value in lines if first.setdefault(key, value).reveal() != value.reveal()}
    return tuple(str(SecurityConfigError(key, "set several times: the last value counts", source)) for key in repeated)


def _max_idle(values: Values) -> float | None:
    """Return the seconds after which idle connections are closed; None for -1, which keeps them."""
    if values.text("connections.max.idle.ms") == "-1":
        return None
    return values.seconds("connections.max.idle.ms") or MAX_IDLE_S


def _resolve(properties: Mapping[str, Secret], source: str | None) -> dict[str, Secret]:
    resolved: dict[str, Secret] = {}
    providers = _providers(properties, source)
    for key, value in properties.items():
        check_characters(key, value, source)
        try:
            resolved[key] = Secret(resolve_references(value.reveal(), providers))
        except InvalidReference as error:
            raise SecurityConfigError(key, str(error), source) from None
        check_characters(key, resolved[key], source)
    return resolved


class InvalidReference(ValueError):
    """A reference cannot be resolved."""


def _providers(properties: Mapping[str, Secret], source: str | None) -> Mapping[str, str]:
    """Return the usual name of each provider by the names of `config.providers`.

    Raises:
        SecurityConfigError: a provider is not one of Kafka's, so a reference to it would be taken for a value.
    """
    declared = properties.get("config.providers")
    providers = {}
    for name in filter(None, (part.strip() for part in declared.reveal().split(",")) if declared else ()):
        key = f"config.providers.{name}.class"
        class_name = properties[key].reveal().strip().rpartition(".")[2] if key in properties else name
        if class_name not in PROVIDERS:
            raise SecurityConfigError(key, f"{class_name} is not supported: expected {', '.join(PROVIDERS)}", source)
        providers[name] = PROVIDERS[class_name]
    return providers


def resolve_references(text: str, providers: Mapping[str, str] | None = None) -> str:
    """Replace the references in a value. Text in braces without a known provider stays.

    Args:
        providers: usual names of providers by other names.

    Raises:
        InvalidReference: a variable, file, or key does not exist.
    """
    names = {"env": "env", "file": "file", "dir": "dir", **(providers or {})}

    def referenced(match: re.Match[str]) -> str:
        provider = names.get(match[1])
        return match[0] if provider is None else _referenced(provider, match[2] or "", match[3])

    return _REFERENCE.sub(referenced, text)


def _referenced(provider: str, path: str, key: str) -> str:
    if provider == "env":
        if key not in os.environ:
            raise InvalidReference(f"the environment variable {key} is not set")
        return os.environ[key]
    file = Path(path) if provider == "file" else Path(path, key)
    try:
        if provider == "dir":
            if not key or Path(key).name != key:
                raise InvalidReference(f"{key!r} is not the name of a file in {path}")
            return read_text(file)
        values = parse_properties(read_text(file))
    except OSError as error:
        raise InvalidReference(f"cannot read {file}: {error.strerror}") from None
    except EncodingError as error:
        raise InvalidReference(f"cannot read {file}: {error}") from None
    if key not in values:
        raise InvalidReference(f"{file} has no key {key}")
    return values[key]


def mode_warnings(path: str | PathLike[str]) -> tuple[str, ...]:
    """Return a warning if all users of the machine can read a file with secrets."""
    mode = Path(path).stat().st_mode
    if os.name == "posix" and stat.S_ISREG(mode) and mode & stat.S_IROTH:
        return (f"{os.fspath(path)} contains secrets, and all users of this machine can read it: run chmod 600",)
    return ()


def _check_keys(keys: Collection[str], source: str | None) -> None:
    """Check that no option of security is lost because its key has another spelling.

    Raises:
        SecurityConfigError: all keys are unknown, or a key of security is a key of another client.
    """
    unknown = [key for key in keys if not is_known(key)]
    of_librdkafka = [key for key in unknown if key in LIBRDKAFKA]
    if of_librdkafka:
        known = ", ".join(dict.fromkeys(LIBRDKAFKA[key] for key in of_librdkafka if LIBRDKAFKA[key]))
        hint = f": Kafka's clients have {known}" if known else ""
        raise SecurityConfigError(", ".join(of_librdkafka), f"spelled as in librdkafka{hint}", source)
    for key in unknown:
        intended = intended_key(key)
        if intended is not None and intended.startswith(("security.", "sasl.", "ssl.")):
            raise SecurityConfigError(key, f"unknown key: did you mean {intended}?", source)
    if unknown and not any(map(is_known, keys)):
        # The keys are not shown: in a file of another kind, such as one with only a password, they are the secret.
        problem = f"no key of Kafka's clients, such as security.protocol, among {counted(len(keys), 'key')}"
        raise SecurityConfigError(None, problem, source)


def _check_plugins(values: Values, mechanism: str | None, *, uses_tls: bool) -> None:
    """Check that no class of Java is needed.

    Raises:
        SecurityConfigError: a class would do what kwire does not do.
    """
    for key in PLUGINS:
        name = re.split(r"[.$]", values.text(key) or "")[-1]
        if not name or not (uses_tls if key.startswith("ssl.") else mechanism):
            continue
        if name in KAFKA_PLUGINS or (name in MSK_PLUGINS and mechanism in ("AWS_MSK_IAM", "OAUTHBEARER")):
            continue
        hint = HANDLER_HINTS.get(name)
        if hint is None and mechanism == "OAUTHBEARER":
            hint = "give a function that returns tokens to OAuthBearerCredentials in Python, or a file of tokens"
        raise values.error(key, f"{name} is a class of Java, which kwire cannot run" + (f": {hint}" if hint else ""))


def _warn_of_keys(values: Values, protocol: str, mechanism: str | None, *, uses_tls: bool) -> None:
    """Warn of keys that have no effect."""
    for key in values:
        only = next((only for prefix, only in MECHANISM_KEYS.items() if key.startswith(prefix)), mechanism)
        if not is_known(key):
            similar = difflib.get_close_matches(key, USED, 1)
            values.warn(key, f"unknown key: did you mean {similar[0]}?" if similar else "unknown key")
        elif (key.startswith("ssl.") and not uses_tls) or (key.startswith("sasl.") and mechanism is None):
            values.warn(key, f"has no effect with security.protocol={protocol}")
        elif mechanism is not None and only != mechanism:
            values.warn(key, f"has no effect with sasl.mechanism={mechanism}")
        elif key in NEEDED_KEYS and not any(map(values.secret, NEEDED_KEYS[key])):
            values.warn(key, f"has no effect without {' or '.join(NEEDED_KEYS[key])}")
        elif key in WITHOUT_EFFECT:
            values.warn(key, "has no effect: only Java's clients or brokers use it")
