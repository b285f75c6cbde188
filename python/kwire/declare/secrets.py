"""Secrets in messages: the values that logs, errors, and `repr()` must not show.

A declaration marks them with `field(sensitive=...)`. `kwire.to_json(..., hide_secrets=True)` and `kwire sniff` hide the
same values.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from kwire.declare._typing import Struct
    from kwire.declare.field import Field, Options
    from kwire.errors import PathElement

    Path: TypeAlias = tuple[PathElement, ...]

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
"""How the keys of secret configs end. They include every config that Kafka declares as a password."""


def is_secret_config(key: str | None) -> bool:
    """Return whether a config is a secret according to its key, such as `ssl.keystore.password`.

    A broker knows the types of its own configs. A client does not, and plug-ins have more of them.
    """
    return key is not None and key.lower().replace("_", ".").replace("-", ".").endswith(SECRET_CONFIGS)


def holds_secrets(cls: type[Struct]) -> bool:
    """Return whether a field of a message, or of a struct in it, is sensitive."""
    from kwire.declare.introspect import fields, structs_in

    return any(f.sensitive or any(map(holds_secrets, structs_in(f.type))) for f in fields(cls))


def secret_paths(cls: type[Struct], values: Mapping[Path, object]) -> set[Path]:
    """Return the paths of secrets in a message of which only some values are known.

    Args:
        cls: the class of the message.
        values: values of the message by their paths. A sensitive value is a secret if its key is not among them.
    """
    return {path for path, value in values.items() if value and _is_secret_path(cls, path, values)}


def _is_secret_path(cls: Any, path: Path, values: Mapping[Path, object]) -> bool:
    from kwire.declare.introspect import fields, structs_in

    field: Field | None = None
    for index, element in enumerate(path):
        if isinstance(element, int):
            continue
        if field is not None:
            [cls] = structs_in(field.type)
        field = next(f for f in fields(cls) if f.name == element)
        if isinstance(field.sensitive, str):
            key = values.get((*path[:index], field.sensitive))
            return not isinstance(key, str) or is_secret_config(key)
        if field.sensitive:
            return True
    return False


def has_sensitive_fields(cls: Any) -> bool:
    """Return whether a struct or message may hold a secret, itself or in its parts."""
    from kwire.declare.introspect import fields, structs_in

    seen: set[Any] = set()
    waiting = [cls]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for field in fields(current):
            if field.sensitive:
                return True
            waiting.extend(structs_in(field.type))
    return False


def is_secret(instance: Any, field: Field | Options, value: object) -> bool:
    """Return whether the value of a field of an instance must be hidden. Empty values and None are never secret."""
    if not field.sensitive or not value:
        return False
    return field.sensitive is True or is_secret_config(getattr(instance, field.sensitive))
