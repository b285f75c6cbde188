"""The OpenAPI document is valid and describes every verb that the server has."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from kwire_admin.http.arguments import arguments
from kwire_admin.http.openapi import openapi_document, served_verbs
from kwire_admin.operations import registry
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_admin.operations.declaration import Operation
    from tests.http.server_process import ServerProcess


def test_document_is_valid() -> None:
    for needs_token in (True, False):
        validate(openapi_document(needs_token=needs_token))


def test_server_serves_the_document(server: ServerProcess) -> None:
    assert server.get("/openapi.json").body == openapi_document(needs_token=False)


def test_token_is_required_exactly_if_the_server_has_tokens() -> None:
    assert openapi_document(needs_token=False)["security"] == []
    assert openapi_document(needs_token=True)["security"] == [{"token": []}]


def test_statuses_of_the_server_are_described() -> None:
    paths = openapi_document()["paths"]
    assert {"401", "403", "405", "421", "429", "500", "503"} <= paths["/api/v1/events"]["get"]["responses"].keys()
    assert {"400", "408", "413", "428"} <= paths["/api/v1/topics/delete"]["post"]["responses"].keys()


def test_every_verb_is_described() -> None:
    every = {f"/api/v1/{noun}/{name}" for noun in registry.nouns() for name in registry.verb_names(noun)}
    assert every <= set(openapi_document()["paths"])


def test_files_that_a_verb_writes_are_in_the_response() -> None:
    operation = openapi_document()["paths"]["/api/v1/tokens/create"]["post"]
    sent = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
    returned = operation["responses"]["200"]["content"]["application/json"]["schema"]["properties"]
    assert "hmac_file" not in sent
    assert returned["files"]["properties"].keys() == {"hmac_file"}


def test_null_is_the_default_of_a_parameter_in_a_body(server: ServerProcess) -> None:
    body = openapi_document()["paths"]["/api/v1/elections/run"]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]["properties"]["type"]
    assert schema["anyOf"] == [{"enum": ["preferred", "unclean"]}, {"type": "null"}]
    assert schema["default"] == "preferred"
    nothing = {"names": ["made-up"], "partitions": None, "dry_run": True}
    assert "null" not in server.post("/api/v1/topics/create", nothing).body["detail"]


def test_errors_of_documents_name_the_parameter(server: ServerProcess) -> None:
    answer = server.post("/api/v1/configs/diff", {"file": "no document"})
    assert (answer.status, answer.body["detail"].split(":")[0]) == (400, "file")


def test_verbs_that_read_are_get_and_others_post() -> None:
    paths = openapi_document()["paths"]
    assert paths["/api/v1/topics/list"].keys() == {"get"}
    assert paths["/api/v1/topics/create"].keys() == {"post"}


def test_verbs_that_destroy_have_a_confirmation() -> None:
    for verb in served_verbs():
        operation = openapi_document()["paths"][f"/api/v1/{verb.noun}/{verb.name}"].get("post")
        if operation is not None and operation["x-danger"] != "reads":
            properties = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
            assert ("confirm" in properties) == (operation["x-danger"] == "destroys")
            assert "dry_run" in properties


def test_verbs_that_read_documents_are_post() -> None:
    operation = openapi_document()["paths"]["/api/v1/reassign-partitions/verify"]["post"]
    assert operation["x-danger"] == "reads"
    [name] = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert name == "file"


def test_secrets_are_fields_of_a_body() -> None:
    """Addresses of requests end up in logs."""
    properties = openapi_document()["paths"]["/api/v1/users/set"]["post"]["requestBody"]["content"]
    password = properties["application/json"]["schema"]["properties"]["password"]
    assert (password["format"], password["writeOnly"]) == ("password", True)
    assert password["description"] == "The new password."


COMMAND_WORDS = re.compile(
    r"exit code|several times|(?<!\w)--?\w|\boptions?\b|\bcommand\b|ctrl-c|\bprint|\bstdin\b|\bterminal\b"
    r"|\bask(s|ed)?\b|\bhere\b|\bthis file\b|\bwrites? (a|the|this)\b",
    re.IGNORECASE,
)
"""Words for the command line, which mean nothing to a client of the server."""


def test_texts_have_no_words_of_the_command_line() -> None:
    texts = list(_texts(openapi_document()))
    assert len(texts) > 500
    assert [text for text in texts if COMMAND_WORDS.search(text)] == []


SAMPLES: dict[Any, Any] = {
    str: "alice",
    int: 1,
    bool: True,
    Path: "orders,0,0",
    "append": "a=b",
    "by_duration": "PT1H",
    "config": "a=b",
    "principal": "User:alice",
    "quotas": "a=1",
    "replica_assignment": "1:2",
    "resource": "topic/orders",
    "resources": "topic:orders",
    "subtract": "a=b",
    "to": "latest",
    "values": "a=b",
}
"""Valid values by the name of a parameter of texts, or by the type of a parameter."""


def test_schemas_accept_exactly_the_choices_that_verbs_accept() -> None:
    """Every combination of the parameters of a choice, given and left out."""
    checked = 0
    paths = openapi_document()["paths"]
    for verb in filter(lambda verb: verb.choices, served_verbs()):
        body = paths[f"/api/v1/{verb.noun}/{verb.name}"]["post"]["requestBody"]
        schema = body["content"]["application/json"]["schema"]
        validator = OAS31Validator(schema)
        confirmation = {"confirm": True} if "confirm" in schema["properties"] else {}
        chosen = sorted({name for choice in verb.choices for name in choice.parameters})
        needed = {name: _sample(verb, name) for name in schema["required"] if name not in chosen}
        conditions = [dict([choice.condition]) for choice in verb.choices if choice.condition is not None]
        for values in product(*([None, _sample(verb, name)] for name in chosen)):
            given = {name: value for name, value in zip(chosen, values, strict=True) if value is not None}
            for condition in ({}, *conditions):
                arguments_given = needed | given | condition
                accepted = _is_accepted(verb, arguments_given)
                assert validator.is_valid(arguments_given | confirmation) == accepted, (verb.noun, arguments_given)
                checked += 1
    assert checked > 200


def _sample(verb: Operation, name: str) -> Any:
    """Return a valid JSON value of a parameter that is not its default."""
    parameter = next(parameter for parameter in verb.parameters if parameter.name == name)
    choices = [choice for choice in parameter.choices or () if choice != parameter.default]
    typed = name if parameter.type is str and name in SAMPLES else parameter.type
    value = choices[0] if choices else SAMPLES[typed]
    return [value] if parameter.many else value


def _is_accepted(verb: Operation, body: dict[str, Any]) -> bool:
    try:
        with arguments(verb, body):
            return True
    except InvalidArgument:
        return False


def test_values_of_enumerations_can_be_sent() -> None:
    operations = [operation for path in openapi_document()["paths"].values() for operation in path.values()]
    sent = [[operation.get("parameters"), operation.get("requestBody")] for operation in operations]
    values = {value.upper() for choices in _values_of("enum", sent) for value in choices}
    assert {"READ", "CLASSIC", "SCRAM-SHA-512"} <= values
    assert "UNKNOWN" not in values


def _texts(node: Any) -> Iterator[str]:
    """Return every summary and description in a document."""
    return (text for key in ("summary", "description") for text in _values_of(key, node) if isinstance(text, str))


def _values_of(key: str, node: Any) -> Iterator[Any]:
    """Return the values of a key at any depth."""
    for name, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if name == key:
            yield child
        yield from _values_of(key, child)


def test_interface_is_described_without_the_libraries_of_single_verbs() -> None:
    """OpenAPI imports every verb, and `kafka http` must start where only its own extra is installed."""
    program = """
import sys
for name in ("numpy", "ortools", "pyarrow", "pyspark", "deltalake", "duckdb", "cryptography", "confluent_kafka"):
    sys.modules[name] = None
from kwire_admin.http.openapi import openapi_document

assert openapi_document()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
