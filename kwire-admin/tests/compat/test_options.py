"""Options of Kafka's scripts are parsed as jopt-simple parses them."""

from __future__ import annotations

import pytest

from kwire_admin.compat.options import OptionValues, ScriptOption, ScriptUsageError, format_help, parse

OPTIONS = (
    ScriptOption("bootstrap-server", "REQUIRED: The Kafka server to connect to.", "server to connect to"),
    ScriptOption("topic", "The topic.", "topic"),
    ScriptOption("topic-id", "The id.", "id"),
    ScriptOption("list", "List."),
    ScriptOption("state", "The state.", "state", optional=True),
    ScriptOption("partitions", "How many.", "n", "Integer"),
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--list", "--topic", "a", "--topic", "b"],
        ["--list", "--topic=a", "--topic=b"],
        ["-list", "-topic", "a", "-topic=b"],
        ["--li", "--topic", "a", "--topic", "b"],
    ],
    ids=" ".join,
)
def test_forms_of_options(arguments: list[str]) -> None:
    values = parse(OPTIONS, arguments)
    assert "list" in values
    assert "state" not in values
    assert (values.get("topic"), values.all("topic"), values.words) == ("b", ["a", "b"], [])


def test_values_may_be_negative_and_optional() -> None:
    values = parse(OPTIONS, ["--partitions", "-2", "--state", "--list", "word"])
    assert (values.number("partitions"), values.get("state"), "state" in values) == (-2, None, True)
    assert values.words == ["word"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--bogus"], "bogus is not a recognized option"),
        (["--t", "x"], "t is not a recognized option (topic, topic-id)"),
        (["--topic"], "Option topic requires an argument"),
        (["--topic", "--list"], "Option topic requires an argument"),
        (["--list=x"], "Option list has no value, got 'x'"),
    ],
)
def test_invalid_options(arguments: list[str], sentence: str) -> None:
    with pytest.raises(ScriptUsageError) as caught:
        parse(OPTIONS, arguments)
    assert str(caught.value) == sentence


def test_rules_between_options() -> None:
    values = parse(OPTIONS, ["--list", "--partitions", "many"])
    with pytest.raises(ScriptUsageError, match=r'Missing required argument "\[topic\]"'):
        values.need("topic")
    with pytest.raises(ScriptUsageError, match=r'Option "\[partitions\]" can\'t be used with option "\[list\]"'):
        values.forbid("list", "partitions")
    with pytest.raises(ScriptUsageError, match="Cannot parse argument 'many' of option partitions"):
        values.number("partitions")
    assert OptionValues().number("partitions") is None


def test_help_has_two_columns() -> None:
    lines = format_help(OPTIONS).splitlines()
    assert lines[2] == "--bootstrap-server <String: server to    REQUIRED: The Kafka server to connect"
    assert lines[3] == "  connect to>                              to."
    assert any(line.startswith("--state [String: state]") for line in lines)
