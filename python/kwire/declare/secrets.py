"""Secrets in messages: the values that logs, errors, and `repr()` must not show.

A declaration marks them with `field(sensitive=...)`. `kwire.to_json(..., hide_secrets=True)` and `kwire sniff` hide the
same values.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.declare.fields import Field, Options

SECRET_CONFIGS = (
    "password",
    "passphrase",
    "secret",
    "token",
    "credential",
    "credentials",
    "jaas.config",
    "secret.key",
    "master.key",
    "keystore.key",
    "private.key",
    "access.key",
    "api.key",
    "certificate.chain",
    "truststore.certificates",
    "user.info",
)
"""Endings of the keys of secret configs. They include every config that Kafka declares as a password."""


def is_secret_config(key: str | None) -> bool:
    """Return whether a config is a secret according to its key, such as `ssl.keystore.password`.

    A broker knows the types of its own configs. A client does not, and plug-ins have more of them.
    """
    return key is not None and key.lower().replace("_", ".").replace("-", ".").endswith(SECRET_CONFIGS)


def is_secret(instance: Any, field: Field | Options, value: object) -> bool:
    """Return whether the value of a field of an instance must be hidden. Empty values and None are never secret."""
    if not field.sensitive or not value:
        return False
    return field.sensitive is True or is_secret_config(getattr(instance, field.sensitive))
