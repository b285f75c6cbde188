"""``kwire plan``: the text that the engine is given, as it is or one field a line."""

from __future__ import annotations

import json
import re

import kwire
from kwire import messages
from kwire.cli.plan_tree import plan_tree
from kwire.messages.kafka import MetadataResponse
from tests.cli.running import assert_golden
from tests.cli.running import kwire as run


def test_one_version_is_one_line() -> None:
    assert run("plan", "MetadataResponse", "-v", "12") == (0, kwire.plan(MetadataResponse, version=12) + "\n", "")


def test_without_a_version_all_are_shown() -> None:
    lines = run("plan", "MetadataResponse").out.splitlines()

    assert lines == [kwire.plan(MetadataResponse, version=version) for version in range(14)]


def test_an_api_is_its_request_and_its_response() -> None:
    lines = run("plan", "Metadata", "-v", "12").out.splitlines()

    assert [line.split()[0] for line in lines] == ["MetadataRequest", "MetadataResponse"]


def test_a_version_of_another_layout_is_found_by_the_api() -> None:
    lines = run("plan", "-d", "kip4", "CreateTopic", "-v", "2").out.splitlines()

    assert [line.split()[0] for line in lines] == ["CreateTopicRequest_V2", "CreateTopicResponse_V2"]


def test_the_tree_has_a_line_for_each_field() -> None:
    assert_golden("api-versions.tree.txt", run("plan", "ApiVersions", "-v", "3", "-o", "tree").out)


def test_programs_get_json() -> None:
    [document] = json.loads(run("plan", "MetadataResponse", "-v", "12", "-o", "json").out)

    assert document == {
        "message": "MetadataResponse",
        "version": 12,
        "plan": kwire.plan(MetadataResponse, version=12),
    }


def test_every_plan_has_a_tree() -> None:
    """The names in a tree are those in the text, in the same order: no part of the grammar is passed over."""
    for cls in messages.every():
        for version in cls.versions:
            text = kwire.plan(cls, version=version)
            in_text = re.findall(r"[<{ ~-](\w+)(?=[:#=])", re.sub(r'"(?:[^"\\]|\\.)*"', "", text.split(" ", 2)[2]))
            in_tree = [re.sub(r"^[│├└─ ]*", "", line).split()[0] for line in list(plan_tree(text))[1:]]
            assert in_tree == in_text, text


def test_a_version_that_does_not_exist_is_wrong_usage() -> None:
    done = run("plan", "Metadata", "-v", "99")

    assert (
        "version 99 is not supported: MetadataRequest has versions 0-13 and MetadataResponse has versions 0-13"
        in done.err
    )
    assert done.code == 2
