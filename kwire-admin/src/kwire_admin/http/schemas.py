"""JSON Schemas of the parameters and rows of verbs, derived from their type hints."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from kwire._util.secret import Secret

if TYPE_CHECKING:
    from kwire_admin.operations.parameters import Choice, Parameter

__all__ = ["Components", "absent_schema", "body_schema", "choice_schema", "parameter_schema"]

PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    bytes: {"type": "string", "description": "Hexadecimal."},
    UUID: {"type": "string", "description": "URL-safe base64 without padding, the text form of ids in Kafka."},
    datetime: {"type": "string", "format": "date-time"},
    Path: {"type": "string", "description": "The contents of the file."},
    Secret: {"type": "string", "format": "password", "writeOnly": True},
}


class Components:
    """The schemas of row classes, which an OpenAPI document refers to by name.

    Attributes:
        schemas: the schemas by name.
        classes: the classes by name.
    """

    def __init__(self) -> None:
        self.schemas: dict[str, dict[str, Any]] = {}
        self.classes: dict[str, type] = {}

    def schema(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type; for a dataclass, a reference to it.

        Raises:
            TypeError: rows cannot have values of this type.
        """
        if kind in PLAIN:
            return PLAIN[kind]
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return {"anyOf": [self.schema(argument) for argument in arguments]}
        if origin in (tuple, list):
            return {"type": "array", "items": self.schema(arguments[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.schema(arguments[1])}
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {"type": PLAIN[type(next(iter(kind)).value)]["type"], "enum": [member.value for member in kind]}
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return {"$ref": f"#/components/schemas/{self._add(kind)}"}
        raise TypeError(f"{kind} has no JSON Schema")

    def _add(self, row_class: type) -> str:
        """Add the schema of a row class and return its name, which contains the noun if two classes have the same."""
        name = row_class.__name__
        if self.classes.get(name, row_class) is not row_class:
            name = f"{row_class.__module__.split('.')[-2].title().replace('_', '')}{name}"
        if name not in self.schemas:
            self.classes[name] = row_class
            self.schemas[name] = {}  # a class may contain itself
            hints = get_type_hints(row_class)
            names = [field.name for field in dataclasses.fields(row_class)]
            self.schemas[name] = {
                "type": "object",
                "description": (row_class.__doc__ or "").partition("\n")[0],
                "properties": {name: self.schema(hints[name]) for name in names},
                "required": names,
            }
        return name


def parameter_schema(parameter: Parameter) -> dict[str, Any]:
    """Return the schema of a parameter."""
    schema = value_schema(parameter)
    if parameter.many:
        return {"type": "array", "items": schema} | ({} if parameter.declared.item is None else {"minItems": 1})
    default = parameter.default
    if default is None or parameter.required:
        return schema
    return schema | {"default": default.value if isinstance(default, Enum) else default}


def value_schema(parameter: Parameter) -> dict[str, Any]:
    """Return the schema of one value of a parameter."""
    if parameter.choices is not None:
        return {"enum": [*parameter.choices]}
    declared = parameter.declared
    schema = {**Components().schema(parameter.type)}
    if declared.syntax is not None:
        schema["pattern"] = f"^(?:{declared.syntax.pattern})$"
    least, most = ("minimum", "maximum") if parameter.type in (int, float) else ("minLength", "maxLength")
    bounds = {least: declared.minimum, most: declared.maximum}
    return schema | {name: bound for name, bound in bounds.items() if bound is not None}


def choice_schema(choice: Choice, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the schema of a choice for a JSON object, in which null or an empty list stands for nothing."""
    given = {name: _given_schema(parameters[name]) for name in choice.parameters}
    if choice.most is None:
        alternatives = [{"required": [name], "properties": {name: given[name]}} for name in given]
    else:
        alternatives = [
            {
                "required": [name] if choice.least else [],
                "properties": {
                    other: given[name] if other == name and choice.least else absent_schema(parameters[other])
                    for other in given
                    if other != name or choice.least
                },
            }
            for name in given
        ]
    if choice.condition is None:
        return {"anyOf": alternatives}
    # Without the condition, the parameter has another value, or is left out if that is its default.
    name, value = choice.condition
    others = [other for other in parameters[name].choices or () if other != value]
    return {"anyOf": [{"properties": {name: {"anyOf": [{"enum": others}, {"type": "null"}]}}}, *alternatives]}


def _given_schema(parameter: Parameter) -> dict[str, Any]:
    if parameter.many:
        return {"type": "array", "items": value_schema(parameter), "minItems": 1}
    if parameter.type is bool:
        return {"const": True}
    if parameter.choices is not None:
        return {"enum": [choice for choice in parameter.choices if choice != parameter.default]}
    return value_schema(parameter)


def absent_schema(parameter: Parameter) -> dict[str, Any]:
    """Return the schema of a parameter that is not given."""
    if parameter.many:
        return {"type": "array", "items": value_schema(parameter), "maxItems": 0}
    return {"anyOf": [{"const": False}, {"type": "null"}]} if parameter.type is bool else {"type": "null"}


def body_schema(parameter: Parameter) -> dict[str, Any]:
    """Return the schema of a parameter in a JSON object, where null stands for the default."""
    schema = parameter_schema(parameter)
    if parameter.required or parameter.many:
        return schema
    # An annotation such as `default` belongs to both alternatives.
    default = {"default": schema.pop("default")} if "default" in schema else {}
    return {"anyOf": [schema, {"type": "null"}]} | default
