"""Tools are found by their files and by entry points, and a broken one affects no other."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from kwire_admin.compat.registry import MODULES, find_script
from kwire_admin.operations.registry import GROUP, kwire_tools, names_of
from kwire_zookeeper_tools import BrokenTool, find_tool, find_tools, tool_names
from kwire_zookeeper_tools.on_node import NODE_TOOLS
from tests.docs.pages import DOCS
from tests.for_rows import for_rows


def install(monkeypatch: pytest.MonkeyPatch, **tools: str) -> None:
    """Let packages have tools, by name."""
    points = [EntryPoint(name, value, GROUP) for name, value in tools.items()]
    monkeypatch.setattr("kwire_admin.operations.registry.package_tools", lambda: points)


@for_rows("name", kwire_tools())
def test_declaration_is_complete(name: str) -> None:
    tool = find_tool(name)
    assert tool is not None
    assert tool.name == name
    assert tool.summary.endswith(".")
    assert tool.examples or not tool.parameters, "the help has an example"
    for parameter in tool.parameters:
        assert parameter.declared.help.endswith((".", "]."))


def test_tool_of_a_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, greeting="tests.zookeeper_tools.tools.scripted:greeting")
    found = find_tool("greeting")
    assert found is not None
    assert found.summary == "Greet."
    assert "greeting" in tool_names()
    assert find_tool("nosuch") is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no.such.module:tool", "ModuleNotFoundError: No module named 'no'"),
        ("tests.zookeeper_tools.tools.scripted:nosuch", "AttributeError"),
        (
            "tests.zookeeper_tools.tools.scripted:not_a_tool",
            "expected a function declared with @operation, found function",
        ),
        ("tests.zookeeper_tools.tools.scripted:raising", "the tool is named raising"),
        ("tests.zookeeper_tools.tools.scripted:undeclared", "parameter name has neither Argument nor Option"),
    ],
)
def test_broken_tool_is_named_and_skipped(value: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        **{"broken" if "undeclared" not in value else "undeclared": value},
        greeting="tests.zookeeper_tools.tools.scripted:greeting",
    )
    found = find_tools()
    assert "greeting" in found.tools
    [broken] = found.broken
    assert value in str(broken)
    assert reason in broken.reason
    with pytest.raises(BrokenTool):
        find_tool(broken.name)


def test_tool_of_a_package_does_not_replace_one_of_kwire(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("get-offset-shell", "status")  # the second one is a tool of nodes, which start nevertheless
    install(monkeypatch, **dict.fromkeys(names, "tests.zookeeper_tools.tools.scripted:greeting"))
    assert {broken.name: broken.reason for broken in find_tools(reserved=names_of(NODE_TOOLS)).broken} == dict.fromkeys(
        names, "another tool has this name"
    )
    found = find_tool("get-offset-shell")
    assert found is not None
    assert found.name == "get-offset-shell"


@for_rows("name", kwire_tools())
def test_tool_is_documented_with_its_output(name: str) -> None:
    page = (DOCS / "how-to" / "tools.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page
    assert f"\n$ kafka tools run {name}" in page


def test_no_class_belongs_to_two_scripts_or_tools() -> None:
    classes = [cls for name in MODULES for cls in find_script(name).classes]
    classes += [cls for tool in find_tools().tools.values() for cls in tool.replaces]
    assert len(classes) == len(set(classes))
    assert {"kafka.tools.ConsumerOffsetChecker", "kafka.admin.CreateTopicCommand"} < {*classes}
