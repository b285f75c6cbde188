"""Tools that are rows of the table of scripts, on a fake cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from kwire_admin.compat.options import OptionValues
from kwire_admin.operations.command_line import danger_of_words, parse_words, usage
from kwire_admin.operations.parameters import Danger
from kwire_admin.operations.registry import find_tool
from kwire_zookeeper_tools import Environment
from kwire_zookeeper_tools.script_rows import SCRIPT_TOOLS
from tests.zookeeper_tools.tools.running import output, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=2, topics=["orders", "order-s", "audit"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 5, 1: 7})
        cluster.set_group("billing", {"orders": {0: 2, 1: 7}})
        yield cluster


@pytest.fixture
def brokers(cluster: FakeCluster) -> tuple[str, str]:
    return "--bootstrap-server", cluster.bootstrap


@pytest.mark.parametrize("name", sorted(SCRIPT_TOOLS))
def test_every_row_has_help_options_and_examples_that_parse(name: str) -> None:
    tool = SCRIPT_TOOLS[name]
    assert find_tool(name) is tool
    assert tool.summary in " ".join(usage(tool).split())
    for example in tool.examples:
        parse_words(tool, example.replace("'", "").split())


async def test_lines_are_those_of_the_script(brokers: tuple[str, str]) -> None:
    lines = await output("list-topic", *brokers, "--topic", "orders")
    assert lines[0].startswith("Topic:orders\tPartitionCount:2\tReplicationFactor:2\tConfigs:")
    assert len(lines) == 3
    assert await output("topics", *brokers, "--list") == ["audit", "order-s", "orders"]
    assert await output("get-offset-shell", *brokers, "--topic", "orders") == ["orders:0:5", "orders:1:7"]
    assert await output("get-offset-shell", *brokers, "--topic", "orders", "--time", "-2", "--partitions", "0") == [
        "orders:0:0"
    ]
    described = await output("consumer-groups", *brokers, "--describe", "--group", "billing")
    assert [line.split()[:6] for line in described[-2:]] == [
        ["billing", "orders", "0", "2", "5", "3"],
        ["billing", "orders", "1", "7", "7", "0"],
    ]


async def test_failure_of_an_item_is_a_failure_of_the_tool(brokers: tuple[str, str]) -> None:
    result = await run("consumer-groups", *brokers, "--describe", "--group", "nosuch")
    assert "Consumer group 'nosuch' does not exist." in result.output
    assert (result.exit_status, result.error) == (1, "consumer-groups: it has failed, and its output says how")


async def test_wrong_use_is_a_sentence(brokers: tuple[str, str]) -> None:
    for words, sentence in (
        (("topics",), "Command must include exactly one action"),
        (("create-topic",), 'Missing required argument "[topic]"'),
        (("delete-topic",), 'Missing required argument "[topic]"'),
        (("add-partitions", "--topic", "orders"), "--topic and --partition are needed"),
        (("consumer-groups", "--describe"), "takes one of these options: [group], [all-groups]"),
        (("configs", "--describe"), "At least one entity type must be specified"),
        (("features", "raise"), "raise"),
    ):
        result = await run(words[0], *brokers, *words[1:])
        assert result.exit_status in {1, 2}, words
        assert sentence in str(result.error), words
        assert "\n" not in str(result.error)


@pytest.mark.parametrize("name", ["ord.rs", "order.s", "orders|audit"])
async def test_name_of_a_topic_to_delete_is_taken_literally(brokers: tuple[str, str], name: str) -> None:
    result = await run("delete-topic", *brokers, "--topic", name)
    assert (result.exit_status, "does not exist" in str(result.error)) == (1, True)


async def test_files_are_limited_to_what_the_tool_may_use(brokers: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    secret = tmp_path / "secret.json"
    secret.write_text('{"partitions": []}')
    environment = Environment(folders=(tmp_path / "inside",))
    for words in (
        ("reassign-partitions", "--execute", "--reassignment-json-file"),
        ("reassign-partitions", "--verify", "--path-to-json-file"),
        ("reassign-partitions", "--generate", "--broker-list", "1", "--topics-to-move-json-file"),
        ("preferred-replica-leader-election", "--path-to-json-file"),
        ("consumer-groups", "--reset-offsets", "--group", "billing", "--from-file"),
        ("configs", "--alter", "--entity-type", "topics", "--entity-name", "orders", "--add-config-file"),
    ):
        result = await run(words[0], *brokers, *words[1:], secret, environment=environment)
        assert "is outside of the folders that tools may use here" in str(result.error), words


@pytest.mark.parametrize(
    ("words", "danger"),
    [
        ("topics --list", Danger.READS),
        ("topics --alter --topic a", Danger.CHANGES),
        ("topics --delete --topic a", Danger.DESTROYS),
        ("create-topic --topic a", Danger.CHANGES),
        ("delete-topic --topic a", Danger.DESTROYS),
        ("configs --describe --entity-type topics", Danger.READS),
        ("configs --alter --entity-type topics", Danger.CHANGES),
        ("consumer-groups --reset-offsets --group a --dry-run", Danger.READS),
        ("consumer-groups --reset-offsets --group a --execute", Danger.DESTROYS),
        ("features", Danger.READS),
        ("features describe", Danger.READS),
        ("features upgrade-all", Danger.CHANGES),
        ("reassign-partitions --execute", Danger.CHANGES),
    ],
)
def test_danger_follows_from_the_options(words: str, danger: Danger) -> None:
    name, *rest = words.split()
    assert danger_of_words(SCRIPT_TOOLS[name], rest) is danger


def test_replaced_option_without_values_is_not_given() -> None:
    values = OptionValues()
    values.add("topic", "a")
    values.replace("topic", ["b", "c"])
    assert values.all("topic") == ["b", "c"]
    values.replace("topic", [])
    assert "topic" not in values
