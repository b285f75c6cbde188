"""Words become values in the same way in a command and in a request to a node."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from kwire_admin.operations.command_line import parse_words, usage
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.registry import find_tool, find_tools, operations_of
from kwire_zookeeper_tools.node_tools.config import config
from kwire_zookeeper_tools.on_node import NODE_TOOLS


def test_examples_of_every_tool_are_valid() -> None:
    for tool in (*find_tools().tools.values(), *operations_of(NODE_TOOLS)):
        assert tool.summary in " ".join(usage(tool).split())
        for example in tool.examples:
            assert parse_words(tool, shlex.split(example)), (tool.name, example)


@pytest.mark.parametrize("words", [["--files", "a", "b"], ["--files", "a", "--files=b"], ["--files=a", "--files", "b"]])
def test_option_takes_several_values_as_a_shell_expands_them(words: list[str]) -> None:
    tool = find_tool("dump-log-segments")
    assert tool is not None
    assert parse_words(tool, words)[1]["files"] == [Path("a"), Path("b")]


def test_command_is_chosen_by_the_first_word() -> None:
    chosen, values = parse_words(config, ["set", "--delete=b", "--", "x['a=b']=c", "--y=1"])
    assert chosen.name == "set"
    assert (values["assignments"], values["delete"], values["broker"]) == (["x['a=b']=c", "--y=1"], ["b"], None)


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [
        ("dump-log-segments", [], "missing option '--files'"),
        ("update-offsets-in-zk", ["a\nb", "x", "y"], "invalid value for 'earliest|latest': 'a"),
        ("topics", ["--nosuch"], "no such option: --nosuch"),
        ("get-offset-shell", ["orders"], "got unexpected extra argument (orders)"),
    ],
)
def test_invalid_words_are_one_line(name: str, words: list[str], sentence: str) -> None:
    tool = find_tool(name)
    assert tool is not None
    with pytest.raises(InvalidArgument) as caught:
        parse_words(tool, words)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_paths_are_not_looked_at(tmp_path: Path) -> None:
    """A node parses the words of clients, and must not tell them which files it can read."""
    tool = find_tool("dump-log-segments")
    assert tool is not None
    secret = tmp_path / "secret"
    secret.touch(mode=0)
    for path in (secret, tmp_path, tmp_path / "missing"):
        assert parse_words(tool, ["--files", str(path)])[1]["files"] == [path]
