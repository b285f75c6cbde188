"""`kwire messages` lists messages and explains their fields."""

from __future__ import annotations

import json
from typing import Any

from kwire import messages
from kwire.cli.field_documentation import documented_fields
from kwire.declare.documentation import docstring
from tests.cli.running import assert_golden
from tests.cli.running import kwire as run


def test_all_messages_are_listed() -> None:
    title, *rows = run("messages").out.splitlines()

    assert title.split() == ["key", "message", "kind", "versions", "flexible", "dialects"]
    assert len(rows) == len(messages.every())
    assert "   3  MetadataResponse                               response  0-13      9+        kafka" in rows


def test_dialect_option_lists_its_messages() -> None:
    _, *rows = run("messages", "--dialect", "kip4").out.splitlines()

    assert len(rows) == len(messages.every("kip4"))
    assert "1006  AdminRequest                            request   0                   kip4" in rows
    assert "      RequestHeader                           header    0-2       2+        kafka, kip4" in rows


def test_json_output_lists_messages() -> None:
    listed = json.loads(run("messages", "-o", "json").out)

    assert [row["name"] for row in listed] == [cls.__name__ for cls in messages.every()]
    assert listed[6] == {
        "name": "MetadataRequest",
        "key": 3,
        "kind": "request",
        "versions": "0-13",
        "flexible": "9+",
        "dialects": ["kafka"],
    }


def test_messages_without_an_api_key_are_listed() -> None:
    listed = json.loads(run("messages", "-o", "json").out)

    assert {
        "name": "EndTxnMarker",
        "key": None,
        "kind": "data",
        "versions": "0",
        "flexible": None,
        "dialects": ["kafka"],
    } in listed


def test_fields_of_a_message_are_explained() -> None:
    assert_golden("describe-cluster.messages.txt", run("messages", "DescribeCluster").out)


def test_version_option_limits_the_fields() -> None:
    def names(fields: list[dict[str, Any]]) -> list[str]:
        return [field["name"] for field in fields]

    [document] = json.loads(run("messages", "MetadataResponse", "-v", "0", "-o", "json").out)

    assert names(document["fields"]) == ["brokers", "topics"]
    assert names(document["fields"][0]["fields"]) == ["node_id", "host", "port"]
    assert document["fields"][0]["fields"][2]["text"] == "The advertised TCP port."


def test_every_field_has_a_text() -> None:
    """Texts of fields come from the source files, which no other test reads."""
    for cls in messages.every():
        assert docstring(cls)
        waiting = documented_fields(cls)
        while waiting:
            documented = waiting.pop()
            assert documented.text, f"{cls.__name__}: {documented.field.name}"
            waiting += documented.inner


def test_error_names_the_dialect_that_has_the_message() -> None:
    done = run("messages", "ListTopics")

    assert "dialect kip4 has it, try --dialect kip4" in done.err
    assert done.code == 2
