"""Sensitive fields of messages, and the paths of secrets in a partly known message."""

from __future__ import annotations

from kwire.declare.introspect import fields, structs_in
from kwire.declare.secrets import is_secret_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from kwire.declare._typing import Struct
    from kwire.declare.fields import Field
    from kwire.errors import PathElement

    Path: TypeAlias = tuple[PathElement, ...]


def has_sensitive_fields(cls: type[Struct]) -> bool:
    """Return whether a struct or message may hold a secret, itself or in its parts."""
    return any(field.sensitive or any(map(has_sensitive_fields, structs_in(field.type))) for field in fields(cls))


def secret_paths(cls: type[Struct], values: Mapping[Path, object]) -> set[Path]:
    """Return the paths of secrets in a partly known message.

    Args:
        cls: the class of the message.
        values: values of the message by their paths. A sensitive value is a secret if its key is not among them.
    """
    return {path for path, value in values.items() if value and _is_secret_path(cls, path, values)}


def _is_secret_path(cls: Any, path: Path, values: Mapping[Path, object]) -> bool:
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
