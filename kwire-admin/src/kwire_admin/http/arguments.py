"""Query parameters and JSON objects as arguments of verbs.

A query repeats a parameter to pass a list. Where a command takes a file, the request has the content of the file as a
string, and the verb reads it from a temporary file. Where a command writes a file, the response has its content.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from enum import Enum
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire._util.secret import Secret
from kwire._util.similar_names import similar
from kwire_admin.http.responses import Page
from kwire_admin.operations.parameters import Danger, InvalidArgument, check_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_admin.operations.declaration import Operation
    from kwire_admin.operations.parameters import Parameter

__all__ = ["HOW_TO_RUN", "PAGING", "arguments", "from_query", "is_get", "offered", "options_of", "take_page", "written"]

HOW_TO_RUN: dict[str, dict[str, Any]] = {
    "dry_run": {"type": "boolean", "default": False, "description": "Report what would change, and change nothing."},
    "confirm": {
        "type": ["boolean", "string"],
        "default": False,
        "description": "True destroys without a question. Some clusters require their name in the server's "
        "configuration instead.",
    },
    "wait": {
        "type": "number",
        "minimum": 0,
        "maximum": 600,
        "default": 30,
        "description": "Seconds to wait until every broker reports the change.",
    },
}
"""The schemas of the fields beside the parameters of a verb. No parameter has one of these names."""

MAX_ROWS = 10_000
"""Maximum number of rows of a page."""
PAGING: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "description": "Maximum number of rows."},
    "offset": {
        "type": "integer",
        "minimum": 0,
        "maximum": 2**31 - 1,
        "description": "Number of rows to leave out first.",
    },
}
"""The schemas of the parameters of pages. No parameter of a verb that reads has one of these names."""

INTEGER = re.compile("[+-]?[0-9]{1,19}")
OPTION = re.compile("--[a-z][a-z-]*")
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def offered(verb: Operation) -> tuple[Parameter, ...]:
    """Return the parameters that requests can have: all except paths, which a server does not take from clients."""
    return tuple(parameter for parameter in verb.parameters if not _is_path(parameter))


def written(verb: Operation) -> tuple[Parameter, ...]:
    """Return the parameters that name the file to write. An optional file is not written."""
    return tuple(parameter for parameter in verb.parameters if _is_path(parameter) and parameter.required)


def _is_path(parameter: Parameter) -> bool:
    return parameter.type is Path and not parameter.declared.document


def is_get(verb: Operation) -> bool:
    """Return whether a verb is a GET request: it only reads, and has no documents, which are too long for addresses."""
    return verb.danger is Danger.READS and not any(parameter.declared.document for parameter in offered(verb))


def options_of(verb: Operation) -> Mapping[str, Any]:
    """Return the schemas of the fields beside the parameters in the body of a request."""
    if verb.danger is Danger.READS:
        return {}
    absent = {"confirm"} if verb.highest_danger is not Danger.DESTROYS else set()
    return {
        name: schema for name, schema in HOW_TO_RUN.items() if name not in absent and (name != "wait" or verb.waits)
    }


def take_page(items: Sequence[tuple[str, str]]) -> tuple[Page | None, list[tuple[str, str]]]:
    """Split a query into the page it asks for, None without `limit` and `offset`, and the other parameters.

    Raises:
        InvalidArgument: the page is not valid.
    """
    given: dict[str, int] = {}
    rest = []
    for name, text in items:
        if name not in PAGING:
            rest.append((name, text))
            continue
        schema = PAGING[name]
        number = int(text) if re.fullmatch("[0-9]{1,10}", text) else -1
        if name in given:
            raise InvalidArgument(f"{name} is given twice")
        if not schema["minimum"] <= number <= schema["maximum"]:
            raise InvalidArgument(f"{name}: expected {schema['minimum']} to {schema['maximum']}, got {text!r}")
        given[name] = number
    return (Page(given.get("offset", 0), given.get("limit", MAX_ROWS)) if given else None), rest


def from_query(verb: Operation, items: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the parameters in a query as JSON values.

    Raises:
        InvalidArgument: a parameter is unknown, repeated without being a list, or not a value of its type.
    """
    parameters = {parameter.name: parameter for parameter in offered(verb)}
    values: dict[str, Any] = {}
    for name, text in items:
        parameter = parameters.get(name)
        value = text if parameter is None else _json_value(parameter, text)
        if parameter is not None and parameter.many:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise InvalidArgument(f"{name} is given twice")
        else:
            values[name] = value
    return values


@contextmanager
def arguments(verb: Operation, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the arguments of a verb from JSON values, with temporary files of documents as long as it runs.

    Raises:
        InvalidArgument: a parameter is missing, unknown, or has the wrong type, or see `check_arguments`.
    """
    parameters = offered(verb)
    names = tuple(parameter.name for parameter in parameters)
    for name in values:
        if name not in names:
            suggested = similar(name, names)
            hint = f"did you mean {' or '.join(suggested)}?" if suggested else f"it has {', '.join(names) or 'none'}"
            raise InvalidArgument(f"{verb.noun} {verb.name} has no parameter {name!r}: {hint}")
    with tempfile.TemporaryDirectory(prefix="kwire-http-") as folder:
        try:
            checked = {
                parameter.name: _argument(parameter, values[parameter.name], Path(folder))
                if parameter.name in values
                else _default(parameter)
                for parameter in parameters
            } | {
                parameter.name: Path(parameter.name) if parameter.required else parameter.default
                for parameter in verb.parameters
                if _is_path(parameter)
            }
            check_arguments(verb.parameters, verb.choices, checked, attrgetter("name"))
            yield checked
        except InvalidArgument as error:
            # Verbs name the file of a document. The client knows it as a parameter, which has the name of the file.
            text = str(error).replace(f"{folder}/", "")
            # They name options as the command does.
            options = {parameter.name_in_words: parameter.name for parameter in parameters}
            error.args = (OPTION.sub(lambda match: options.get(match[0], match[0]), text),)
            raise


def _default(parameter: Parameter) -> Any:
    if parameter.many:
        return []
    if parameter.required:
        raise InvalidArgument(f"{parameter.name} is required")
    return parameter.default


def _argument(parameter: Parameter, value: Any, folder: Path) -> Any:
    if value is None and not parameter.required and not parameter.many:
        return parameter.default
    if not parameter.many:
        return _one(parameter, value, folder)
    if not isinstance(value, list):
        raise InvalidArgument(f"{parameter.name}: expected a list, got {_type_name(value)}")
    return [_one(parameter, item, folder) for item in value]


def _one(parameter: Parameter, value: Any, folder: Path) -> Any:
    """Return a value of the parameter's type from one JSON value."""
    kind = parameter.type
    target: Any = kind if kind in (bool, int, float) else str
    if kind is float and type(value) is int:
        value = float(value) if abs(value) < 2**63 else inf  # float() of 400 digits is an error
    if kind is int and type(value) is float and value.is_integer():  # as in JSON Schema, 1.0 is an integer
        value = int(value)
    if type(value) is not target:
        raise InvalidArgument(f"{parameter.name}: expected {_article(target)}, got {_type_name(value)}")
    if kind is Secret:
        return Secret(value)
    if kind is Path:
        file = folder / parameter.name
        file.write_text(value, encoding="utf-8")
        return file
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = {choice.lower(): kind(choice) for choice in parameter.choices or ()}
        if value.lower() not in choices:
            raise InvalidArgument(f"{parameter.name}: expected {' or '.join(choices)}, got {value!r}")
        return choices[value.lower()]
    return value


def _json_value(parameter: Parameter, text: str) -> Any:
    """Return the text of a query as a JSON value of the parameter's type."""
    try:
        if parameter.type is bool:
            return BOOLEANS[text.lower()]
        if parameter.type is int and not INTEGER.fullmatch(text):
            raise ValueError(text)
        if parameter.type in (int, float):
            return parameter.type(text)
    except (KeyError, ValueError):
        raise InvalidArgument(f"{parameter.name}: expected {_article(parameter.type)}, got {text!r}") from None
    return text


def _article(kind: type) -> str:
    return {bool: "true or false", int: "an integer", float: "a number"}.get(kind, "a string")


def _type_name(value: Any) -> str:
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return "null" if value is None else names[type(value)]
