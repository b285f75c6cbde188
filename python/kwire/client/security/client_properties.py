"""Kafka's `client.properties`: the file that `--command-config` names.

Values can refer to others (KIP-297): `${env:NAME}`, `${file:PATH:KEY}`, `${dir:PATH:FILE}`. These are Kafka's
EnvVarConfigProvider, FileConfigProvider, and DirectoryConfigProvider under their usual names. They need no
`config.providers` here. The text that a provider returns is not searched for further references.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kwire._util.properties import parse_properties
from kwire._util.secret import Secret
from kwire._util.text_files import EncodingError, read_properties, read_text
from kwire.client.connection_config import ConnectionConfig
from kwire.client.security.errors import SecurityConfigError
from kwire.client.security.known_keys import USED, is_known, is_secret_key
from kwire.client.security.sasl_properties import read_credentials
from kwire.client.security.tls_properties import read_tls
from kwire.client.security.values import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from kwire.client.security.values import PasswordSource

__all__ = ["ClientProperties", "InvalidReference", "resolve_references"]

log = logging.getLogger("kwire.client")

_REFERENCE = re.compile(r"\$\{(env|file|dir):(?:([^}]*):)?([^}:]*)\}")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProperties:
    """The content of a file of client properties.

    Attributes:
        connection: TLS and SASL.
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
            values = {key: Secret(value) for key, value in parse_properties(read_properties(Path(path))).items()}
        except EncodingError as error:
            raise SecurityConfigError(None, str(error), os.fspath(path)) from None
        warnings = mode_warnings(path) if any(map(is_secret_key, values)) else ()
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
        protocol = (values.text("security.protocol") or "PLAINTEXT").upper()
        if protocol not in PROTOCOLS:
            raise values.error("security.protocol", f"expected one of {', '.join(PROTOCOLS)}")
        uses_tls, uses_sasl = protocol.endswith("SSL"), protocol.startswith("SASL_")
        tls = read_tls(values) if uses_tls else None
        sasl = read_credentials(values) if uses_sasl else None
        if sasl is not None and sasl.sasl_mechanism == "PLAIN" and not uses_tls:
            problem = "PLAIN sends the password in clear text without TLS: use SASL_SSL"
            warnings += (values.message("security.protocol", problem),)
        return cls(
            connection=ConnectionConfig(tls=tls, sasl=sasl),
            bootstrap_servers=values.text("bootstrap.servers"),
            client_id=values.text("client.id"),
            request_timeout=values.seconds("request.timeout.ms"),
            warnings=(*warnings, *_key_warnings(values, protocol, uses_tls=uses_tls, uses_sasl=uses_sasl)),
        )


def _resolve(properties: Mapping[str, Secret], source: str | None) -> dict[str, Secret]:
    resolved: dict[str, Secret] = {}
    for key, value in properties.items():
        try:
            resolved[key] = Secret(resolve_references(value.reveal()))
        except InvalidReference as error:
            raise SecurityConfigError(key, str(error), source) from None
    return resolved


class InvalidReference(ValueError):
    """A reference cannot be resolved."""


def resolve_references(text: str) -> str:
    """Replace the references in a value. Text in braces without a known provider stays.

    Raises:
        InvalidReference: a variable, file, or key does not exist.
    """
    return _REFERENCE.sub(lambda match: _referenced(match[1], match[2] or "", match[3]), text)


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


def _key_warnings(values: Values, protocol: str, *, uses_tls: bool, uses_sasl: bool) -> tuple[str, ...]:
    warnings = []
    for key in values:
        if not is_known(key):
            similar = difflib.get_close_matches(key, USED, 1)
            hint = f": did you mean {similar[0]}?" if similar else ""
            warnings.append(values.message(key, f"unknown key{hint}"))
        elif (key.startswith("sasl.") and not uses_sasl) or (key.startswith("ssl.") and not uses_tls):
            warnings.append(values.message(key, f"has no effect with security.protocol={protocol}"))
    return tuple(warnings)
