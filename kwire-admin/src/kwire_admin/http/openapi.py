"""The OpenAPI document of the server, generated from the registry of verbs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire import __version__
from kwire_admin.http.arguments import PAGING, is_get, offered, options_of, written
from kwire_admin.http.incidents import PastIncident
from kwire_admin.http.responses import PROBLEM
from kwire_admin.http.schemas import Components, absent_schema, body_schema, choice_schema, parameter_schema
from kwire_admin.operations.parameters import Danger
from kwire_admin.operations.registry import find_verb, noun_help, nouns, verb_names

if TYPE_CHECKING:
    from kwire_admin.operations.declaration import Operation

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
PROBLEM_DOCUMENT = {
    "type": "object",
    "description": "A problem of RFC 9457. If a verb has run, it has the rows as well.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string", "description": "The phrase of the status."},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "name": {"type": "string", "description": "The name of the error, such as TOPIC_ALREADY_EXISTS."},
        "code": {"type": ["integer", "null"], "description": "Kafka's error code, if a broker reported it."},
    },
    "required": ["type", "title", "status", "detail", "name", "code"],
}
REQUEST_ID = {
    "X-Request-Id": {
        "description": "The id of the request in the log: the value of this header, or a generated one.",
        "schema": {"type": "string"},
    }
}
NEXT_PAGE = {
    "Link": {"description": "The next page, with rel=next, if there is one.", "schema": {"type": "string"}},
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A new text for each change, such as a UUID. A request that is sent again with its key has the "
    "response of the first one, and changes nothing. The server keeps 1,000 keys for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
COMMON_ERRORS = {
    "401": "The token is missing or unknown.",
    "403": "The role of the token, or Kafka's permissions, do not allow it.",
    "405": "The path does not have the method: `Allow` lists its methods.",
    "421": "The header Host does not name a loopback address, and the server has no tokens.",
    "429": "Too many wrong tokens came from the address of the client, or too many requests of the principal run: "
    "`Retry-After` has the seconds to wait.",
    "500": "The server has a bug; its log has a traceback.",
    "503": "No broker responds, a time ran out, or all connections of the server are in use.",
}
"""Statuses that every path can have."""
ERRORS = COMMON_ERRORS | {
    "400": "An argument is invalid.",
    "404": "Something that the request names is unknown.",
    "409": "A broker refused it, its state does not allow it, or the cluster does not have the operation.",
    "502": "The response of a broker was lost: the outcome is unknown.",
}
BODY_ERRORS = {
    "408": "The body was not received in time.",
    "413": "The body is too large.",
    "422": "Another request had the same Idempotency-Key.",
}


@cache
def served_verbs() -> tuple[Operation, ...]:
    """Return the verbs."""
    operations = (find_verb(noun, name) for noun in nouns() for name in verb_names(noun))
    return tuple(verb for verb in operations if verb is not None)


def openapi_document(*, needs_token: bool = True, types_name: bool = False) -> dict[str, Any]:
    """Return the document, as OpenAPI 3.1.

    Args:
        needs_token: True if requests must have a token.
        types_name: True if the name of the cluster confirms a request that destroys something.
    """
    components = Components()
    components.schemas |= {"Error": ERROR, "Failure": FAILURE, "Problem": PROBLEM_DOCUMENT}
    paths = {
        f"/api/v1/{verb.noun}/{verb.name}": _path(verb, components, types_name=types_name) for verb in served_verbs()
    }
    paths["/api/v1/events"] = {"get": _events()}
    paths["/api/v1/incidents"] = {"get": _incidents(components)}
    paths["/healthz"] = {"get": _server_status("health", "Answer that the server runs.", "application/json")}
    paths["/metrics"] = {"get": _server_status("metrics", "Metrics of the server for Prometheus.", "text/plain")}
    paths["/healthz"]["get"]["security"] = []
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


def _path(verb: Operation, components: Components, *, types_name: bool) -> dict[str, Any]:
    summary, _, description = verb.help.partition("\n")
    operation: dict[str, Any] = {
        "operationId": f"{verb.noun}-{verb.name}",
        "tags": [verb.noun],
        "summary": summary,
        "description": description.strip(),
        "x-danger": verb.highest_danger.name.lower(),
        "responses": _responses(verb, components.schema(verb.result)),
    }
    # Verbs that read take parameters in the query; verbs that change take one JSON object.
    if is_get(verb):
        operation["parameters"] = [
            {
                "name": parameter.name,
                "in": "query",
                "description": parameter.declared.help,
                "required": parameter.must_be_given,
                "schema": parameter_schema(parameter),
            }
            for parameter in offered(verb)
        ] + _paging()
        return {"get": operation}
    properties = {
        parameter.name: body_schema(parameter) | {"description": parameter.declared.help} for parameter in offered(verb)
    }
    required = [parameter.name for parameter in offered(verb) if parameter.must_be_given]
    parameters = {parameter.name: parameter for parameter in offered(verb)}
    conditions = [choice_schema(choice, parameters) for choice in verb.choices] + _confirmation(
        verb, types_name=types_name
    )
    schema = {
        "type": "object",
        "properties": {**properties, **options_of(verb)},
        "required": required,
        "additionalProperties": False,
        **({"allOf": conditions} if conditions else {}),
    }
    if verb.danger is not Danger.READS:
        operation["parameters"] = [IDEMPOTENCY_KEY]
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"post": operation}


def _confirmation(verb: Operation, *, types_name: bool) -> list[dict[str, Any]]:
    """Return the condition that a request which can destroy something is confirmed or a dry run."""
    if verb.highest_danger is not Danger.DESTROYS:
        return []
    confirm: dict[str, Any] = {"type": "string", "minLength": 1} if types_name else {"const": True}
    confirmed = {"properties": {"confirm": confirm}, "required": ["confirm"]}
    dry_run = {"properties": {"dry_run": {"const": True}}, "required": ["dry_run"]}
    harmless = [] if verb.danger is Danger.DESTROYS else [{"properties": _harmless(verb)}]
    return [{"anyOf": [confirmed, dry_run, *harmless]}]


def _harmless(verb: Operation) -> dict[str, Any]:
    """Return the schemas of parameters with which a verb destroys nothing. See `Operation.dangers`."""
    assert not callable(verb.dangers)  # its verb destroys something by default
    dangers = {name for name, danger in verb.dangers.items() if danger is Danger.DESTROYS}
    harmless: dict[str, Any] = {}
    for parameter in offered(verb):
        if parameter.name in dangers:
            harmless[parameter.name] = absent_schema(parameter)
        elif dangers.intersection(parameter.choices or ()):
            choices = [choice for choice in parameter.choices or () if choice not in dangers]
            harmless[parameter.name] = {"anyOf": [{"enum": choices}, {"type": "null"}]}
    return harmless


def _responses(verb: Operation, row: dict[str, Any]) -> dict[str, Any]:
    files = written(verb)
    item = {"anyOf": [row, {"$ref": "#/components/schemas/Failure"}]}
    fields: dict[str, Any] = {
        "rows": {"type": "array", "items": item},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "string", "description": "The result of a check in one sentence."},
    }
    if files:
        texts = {file.name: {"type": "string", "description": file.declared.help} for file in files}
        fields["files"] = {
            "type": "object",
            "properties": texts,
            "description": "Contents of the files that the operation produces, by parameter.",
        }
    errors = ERRORS if is_get(verb) else ERRORS | BODY_ERRORS
    if verb.highest_danger is Danger.DESTROYS:
        errors = errors | {"428": "The request must be confirmed."}
    headers = NEXT_PAGE if is_get(verb) else {}
    return {
        "200": _rows("The rows.", fields, headers),
        "207": _rows("The rows. Some items failed.", fields, headers),
        **_problems(errors),
    }


def _paging() -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "description": schema["description"], "required": False, "schema": schema}
        for name, schema in PAGING.items()
    ]


def _rows(description: str, fields: dict[str, Any], headers: dict[str, Any]) -> dict[str, Any]:
    if headers:
        fields = fields | {"total": {"type": "integer", "description": "The number of rows of all pages."}}
    schema = {"type": "object", "properties": fields, "required": ["rows"]}
    return _response(description, "application/json", schema, headers)


def _problems(errors: dict[str, str]) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: _response(text, PROBLEM, schema) for status, text in errors.items()}


def _response(
    description: str, media_type: str, schema: dict[str, Any], headers: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "description": description,
        "headers": REQUEST_ID | (headers or {}),
        "content": {media_type: {"schema": schema}},
    }


def _server_status(id: str, summary: str, media_type: str) -> dict[str, Any]:
    schema = {"type": "object" if media_type == "application/json" else "string"}
    return {
        "operationId": id,
        "summary": summary,
        "responses": {"200": _response(summary, media_type, schema), **_problems(COMMON_ERRORS)},
    }


def _incidents(components: Components) -> dict[str, Any]:
    fields: dict[str, Any] = {"rows": {"type": "array", "items": components.schema(PastIncident)}}
    errors = {status: ERRORS[status] for status in ("400", "409", "502")}
    return {
        "operationId": "incidents",
        "summary": "List the incidents of the last 30 days from the gold tables of a pipeline, latest first.",
        "parameters": _paging(),
        "responses": {
            "200": _rows("The incidents.", fields, NEXT_PAGE),
            **_problems(COMMON_ERRORS | errors | {"404": "The server has no gold tables."}),
        },
    }


def _events() -> dict[str, Any]:
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
            "200": _response("The events.", "text/event-stream", {"type": "string"}),
            **_problems(COMMON_ERRORS),
        },
    }
