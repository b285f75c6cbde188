"""The OpenAPI document of the server, generated from the registry of verbs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire import __version__
from kwire.http.arguments import is_get, offered, options_of, written
from kwire.http.schemas import Components, parameter_schema
from kwire.operations.parameters import Danger
from kwire.operations.registry import find_verb, noun_help, nouns, verb_names

if TYPE_CHECKING:
    from kwire.operations.declaration import Operation

__all__ = ["openapi_document", "served_verbs"]

FAILURE = {
    "type": "object",
    "description": "An item that a broker refused, in place of its row.",
    "properties": {"name": {"type": "string"}, "error": {"$ref": "#/components/schemas/Error"}},
    "required": ["name", "error"],
}
ERROR = {
    "type": "object",
    "properties": {
        "code": {"type": ["integer", "null"], "description": "Kafka's error code, if a broker reported it."},
        "name": {"type": "string"},
        "message": {"type": "string"},
    },
    "required": ["code", "name", "message"],
}
COMMON_ERRORS = {
    "401": "The token is missing or unknown.",
    "403": "The role of the token, or Kafka's permissions, do not allow it.",
    "405": "The path does not have the method: `Allow` lists its methods.",
    "421": "The header Host does not name a loopback address, and the server has no tokens.",
    "429": "Too many wrong tokens came from the address of the client: `Retry-After` has the seconds to wait.",
    "500": "The server has a bug; its log has a traceback.",
    "503": "No broker responds, a time ran out, or all connections of the server are in use.",
}
"""Statuses that every path can have."""
ERRORS = COMMON_ERRORS | {
    "400": "An argument is invalid, or the cluster does not have the operation.",
    "404": "The topic, group, or transaction is unknown.",
    "409": "A broker refused it.",
    "502": "The response of a broker was lost: the outcome is unknown.",
}
BODY_ERRORS = {
    "408": "The body was not received in time.",
    "413": "The body is too large.",
}


@cache
def served_verbs() -> tuple[Operation, ...]:
    """Return the verbs."""
    found = (find_verb(noun, name) for noun in nouns() for name in verb_names(noun))
    return tuple(verb for verb in found if verb is not None)


def openapi_document(*, needs_token: bool = True) -> dict[str, Any]:
    """Return the document, as OpenAPI 3.1.

    Args:
        needs_token: True if requests must have a token.
    """
    components = Components()
    components.schemas |= {"Error": ERROR, "Failure": FAILURE}
    paths = {f"/api/v1/{verb.noun}/{verb.name}": _path(verb, components) for verb in served_verbs()}
    paths["/api/v1/events"] = {"get": _events()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kwire",
            "version": __version__,
            "description": "Administration of a Kafka cluster. Verbs that read are GET requests, and the others are "
            "POST requests. Verbs that destroy something require `confirm`.",
        },
        "security": [{"token": []}] if needs_token else [],
        "tags": [{"name": noun, "description": noun_help(noun)} for noun in nouns()],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": components.schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _path(verb: Operation, components: Components) -> dict[str, Any]:
    summary, _, description = verb.help.partition("\n")
    operation: dict[str, Any] = {
        "operationId": f"{verb.noun}-{verb.name}",
        "tags": [verb.noun],
        "summary": summary,
        "description": description.strip(),
        "x-danger": verb.highest_danger.name.lower(),
        "responses": _responses(verb, components.schema(verb.result)),
    }
    if is_get(verb):
        operation["parameters"] = [
            {
                "name": each.name,
                "in": "query",
                "description": each.declared.help,
                "required": each.required and not each.many,
                "schema": parameter_schema(each),
            }
            for each in offered(verb)
        ]
        return {"get": operation}
    properties = {each.name: parameter_schema(each) | {"description": each.declared.help} for each in offered(verb)}
    required = [each.name for each in offered(verb) if each.required and not each.many]
    schema = {
        "type": "object",
        "properties": {**properties, **options_of(verb)},
        "required": required,
        "additionalProperties": False,
    }
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"post": operation}


def _responses(verb: Operation, row: dict[str, Any]) -> dict[str, Any]:
    files = written(verb)
    item = {"anyOf": [row, {"$ref": "#/components/schemas/Failure"}]}
    fields: dict[str, Any] = {
        "rows": {"type": "array", "items": item},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "string", "description": "The result of a check in one sentence."},
    }
    if files:
        texts = {each.name: {"type": "string", "description": each.declared.help} for each in files}
        fields["files"] = {
            "type": "object",
            "properties": texts,
            "description": "Contents of the files that the operation produces, by parameter.",
        }
    rows = {"type": "object", "properties": fields, "required": ["rows"]}
    error = {"type": "object", "properties": {"error": {"$ref": "#/components/schemas/Error"}, **fields}}
    errors = ERRORS if is_get(verb) else ERRORS | BODY_ERRORS
    if verb.highest_danger is Danger.DESTROYS:
        errors = errors | {"428": "The request must be confirmed."}
    return {
        "200": _response("The rows.", rows),
        "207": _response("The rows. Some items failed.", rows),
        **{status: _response(description, error) for status, description in errors.items()},
    }


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _events() -> dict[str, Any]:
    error = {"type": "object", "properties": {"error": {"$ref": "#/components/schemas/Error"}}}
    return {
        "operationId": "events",
        "summary": "Stream what changes in the cluster, as server-sent events.",
        "description": "The name of an event is the name of a metadata event, such as `leader-moved`, or "
        "`broker-unreachable`, `broker-reachable`, `state` at the start, and `lost` for a reader that is too slow.",
        "parameters": [
            {
                "name": "Last-Event-ID",
                "in": "header",
                "description": "The last event that was received.",
                "schema": {"type": "string"},
            }
        ],
        "responses": {
            "200": {"description": "The events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **{status: _response(description, error) for status, description in COMMON_ERRORS.items()},
        },
    }
