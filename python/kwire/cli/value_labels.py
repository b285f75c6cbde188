"""Text of values in dumps and tables, and the names of error codes and API keys."""

from __future__ import annotations

from functools import cache
from uuid import UUID

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.cli.frame_json import json_text
from kwire.uuids import uuid_to_text

if TYPE_CHECKING:
    from kwire.errors import PathElement

API_KEYS = ("request_api_key", "api_key")


def value_text(value: Any) -> str:
    """Format a value on one line: strings as in JSON, UUIDs as Kafka's tools print them, bytes as length and hex."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return json_text(value)
        case UUID():
            return uuid_to_text(value)
        case bytes():
            return f"{len(value)} byte{'' if len(value) == 1 else 's'}{': ' if value else ''}{value.hex(' ')}"
        case tuple():
            return ", ".join(map(value_text, value)) if value else "[]"
    return str(value)


def value_label(path: tuple[PathElement, ...], value: Any, dialect: str) -> str:
    """Return the name of an error code or API key; an empty string for any other value."""
    name = next((element for element in reversed(path) if isinstance(element, str)), "")
    if not isinstance(value, int) or isinstance(value, bool):
        return ""
    if name.endswith("error_code") and value != 0:
        return error_name(value, dialect)
    if name in API_KEYS:
        return api_name(value, dialect)
    return ""


def error_name(code: int, dialect: str) -> str:
    """Return the name of an error code, such as `UNKNOWN_999` for an unknown one."""
    if dialect == "kip4":
        from kwire.messages.kip4 import error_codes as kip4

        return kip4.ErrorCode(code).name
    from kwire.messages.kafka import error_codes as kafka

    return kafka.ErrorCode(code).name


@cache
def api_name(api_key: int, dialect: str) -> str:
    """Return the name of an API, such as `Metadata` for 3, or an empty string for an unknown one."""
    from kwire import messages

    try:
        return messages.api_name(messages.find(dialect, api_key=api_key, kind="request"))
    except messages.UnknownMessage:
        return ""
