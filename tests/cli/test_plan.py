"""`kwire plan` prints plans as text or as JSON."""

from __future__ import annotations

import json

import kwire
from kwire.messages.kafka import MetadataResponse
from tests.cli.running import kwire as run


def test_one_version_is_one_line() -> None:
    assert run("plan", "MetadataResponse", "-v", "12") == (0, kwire.plan(MetadataResponse, version=12) + "\n", "")


def test_all_versions_are_shown_by_default() -> None:
    lines = run("plan", "MetadataResponse").out.splitlines()

    assert lines == [kwire.plan(MetadataResponse, version=version) for version in range(14)]


def test_api_shows_request_and_response() -> None:
    lines = run("plan", "Metadata", "-v", "12").out.splitlines()

    assert [line.split()[0] for line in lines] == ["MetadataRequest", "MetadataResponse"]


def test_version_with_another_layout_selects_its_class() -> None:
    lines = run("plan", "-d", "kip4", "CreateTopic", "-v", "2").out.splitlines()

    assert [line.split()[0] for line in lines] == ["CreateTopicRequest_V2", "CreateTopicResponse_V2"]


def test_json_output_has_the_plans() -> None:
    [document] = json.loads(run("plan", "MetadataResponse", "-v", "12", "-o", "json").out)

    assert document == {
        "message": "MetadataResponse",
        "version": 12,
        "plan": kwire.plan(MetadataResponse, version=12),
    }


def test_unsupported_version_is_a_usage_error() -> None:
    done = run("plan", "Metadata", "-v", "99")

    assert (
        "version 99 is not supported: MetadataRequest has versions 0-13 and MetadataResponse has versions 0-13"
        in done.err
    )
    assert done.code == 2
