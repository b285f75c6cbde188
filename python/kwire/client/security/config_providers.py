"""Values that a configuration takes from elsewhere (KIP-297): `${env:NAME}`, `${file:PATH:KEY}`, `${dir:PATH:FILE}`.

These are Kafka's EnvVarConfigProvider, FileConfigProvider, and DirectoryConfigProvider under their usual names. They
need no `config.providers` here. What a provider returns is not searched for further references.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from kwire.properties import parse_properties

__all__ = ["InvalidReference", "resolve_references"]

_REFERENCE = re.compile(r"\$\{(env|file|dir):(?:([^}]*):)?([^}:]*)\}")


class InvalidReference(ValueError):
    """A reference cannot be resolved."""


def resolve_references(text: str) -> str:
    """Replace the references in a value. Text in braces without a known provider stays.

    Raises:
        InvalidReference: a variable, file, or key does not exist.
    """
    return _REFERENCE.sub(lambda match: _resolve(match[1], match[2] or "", match[3]), text)


def _resolve(provider: str, path: str, key: str) -> str:
    if provider == "env":
        if key not in os.environ:
            raise InvalidReference(f"the environment variable {key} is not set")
        return os.environ[key]
    file = Path(path) if provider == "file" else Path(path, key)
    try:
        if provider == "dir":
            if not key or Path(key).name != key:
                raise InvalidReference(f"{key!r} is not the name of a file in {path}")
            return file.read_text(encoding="utf-8")
        values = parse_properties(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidReference(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidReference(f"{file} is not UTF-8") from None
    if key not in values:
        raise InvalidReference(f"{file} has no key {key}")
    return values[key]
