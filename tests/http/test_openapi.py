"""The OpenAPI document is valid and describes every verb that the server has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_spec_validator import validate

from kwire import verbs
from kwire.http.openapi import openapi_document, served_verbs

if TYPE_CHECKING:
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
    every = {f"/api/v1/{noun}/{name}" for noun in verbs.nouns() for name in verbs.verbs(noun)}
    assert every <= set(openapi_document()["paths"])


def test_files_that_a_verb_writes_are_in_the_response() -> None:
    operation = openapi_document()["paths"]["/api/v1/tokens/create"]["post"]
    sent = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
    returned = operation["responses"]["200"]["content"]["application/json"]["schema"]["properties"]
    assert "hmac_file" not in sent
    assert returned["files"]["properties"].keys() == {"hmac_file"}


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
