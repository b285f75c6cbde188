"""The whole command: help, documentation, usage errors, exit codes, and imports."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import click

import kwire
from kwire.cli.program import command_names, find_command, short_help
from kwire_admin.operations import registry
from tests.cli.running import environment
from tests.cli.running import kwire as run
from tests.docs.pages import console_examples
from tests.for_rows import for_rows
from tests.installing import ROOT, empty_environment

DOCUMENT = ROOT / "docs" / "cli.md"

each_command = for_rows("name", command_names())


def command(name: str) -> click.Command:
    found = find_command(name)
    assert found is not None
    return found


def test_console_script_and_module_are_the_same_program() -> None:
    script = Path(sys.executable).with_name("kwire")

    done = subprocess.run([script, "--version"], capture_output=True, text=True, env=environment(), check=False)

    assert done.stdout == run("--version").out == f"kwire {kwire.__version__}\n"


def test_help_lists_every_command() -> None:
    done = run("--help")

    assert done.code == 0
    for name in {*command_names(), *registry.nouns()}:
        sentence = registry.noun_help(name) if name in registry.nouns() else short_help(name)
        assert sentence.endswith(".")
        assert re.search(rf"^  {name} +{re.escape(sentence[:40])}", done.out, re.MULTILINE)


@each_command
def test_help_of_a_command_has_examples(name: str) -> None:
    done = run(name, "--help")

    assert done.code == 0
    assert short_help(name) in done.out
    assert "\n  Examples:\n" in done.out
    assert all(len(line) <= 100 for line in done.out.splitlines())


@each_command
def test_every_option_has_help(name: str) -> None:
    for parameter in command(name).params:
        if isinstance(parameter, click.Option) and parameter.name != "output":
            assert parameter.help, parameter.opts


@each_command
def test_examples_in_help_are_valid(name: str) -> None:
    """Examples are parsed but not run, because some name files."""
    examples = re.findall(r"^ +(?:.*\| )?(?:kwire|kafka) (\w+) (.*)$", command(name).help or "", re.MULTILINE)
    assert examples
    for named, words in examples:
        arguments = shlex.split(re.split(r" \| |[<>] | && |\)", words)[0])
        called = command(named)
        if isinstance(called, click.Group):
            called = called.commands[arguments.pop(0)]
        called.make_context(named, arguments)


@each_command
def test_every_option_is_documented(name: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    [section] = re.findall(rf"^## `kwire {name}`\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    shared = text.partition("\n## `kwire ")[0]

    for parameter in command(name).params:
        for option in parameter.opts if isinstance(parameter, click.Option) else ():
            if option.startswith("--") and option != "--help":
                assert f"`{option}" in section or f"`{option}" in shared, option


def test_documented_options_exist() -> None:
    commands = [command(name) for name in command_names()]
    commands += [
        command for called in commands if isinstance(called, click.Group) for command in called.commands.values()
    ]
    exist = {option for called in commands for parameter in called.params for option in parameter.opts}

    named = set(re.findall(r"`(--[a-z-]+)", DOCUMENT.read_text(encoding="utf-8")))

    assert named <= exist | {"--help", "--version"}


@for_rows(("line", "output"), console_examples(DOCUMENT))
def test_documented_examples_print_the_documented_output(line: str, output: str) -> None:
    script = f'kwire() {{ {shlex.quote(sys.executable)} -m kwire "$@"; }}\n{line}\n'

    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        check=False,
    )

    assert done.stdout == output


@for_rows(
    ("arguments", "complaint"),
    [
        (("dekode",), "no such command 'dekode': did you mean decode"),
        (("decode", "--nothing"), "No such option"),
        (("decode", "00"), "unknown message: expected --message NAME"),
        (("decode", "-m", "MetadataResponse", "00"), "MetadataResponse has versions 0-13: choose one with --version"),
        (
            ("decode", "-m", "MetadataResponse", "-v", "99", "00"),
            "version 99 is not supported: MetadataResponse has versions 0-13",
        ),
        (("decode", "-m", "MetadataRespons", "-v", "1", "00"), "did you mean MetadataResponse"),
        (("decode", "-m", "Metadata", "-v", "1", "00"), "did you mean MetadataRequest or MetadataResponse?"),
        (("decode", "-m", "Xyzzy", "-v", "1", "00"), "`kwire messages` lists all messages"),
        (("decode", "-m", "ListTopicsResponse", "-v", "1", "00"), "dialect kip4 has it, try --dialect kip4"),
        (("decode", "--response", "-m", "MetadataRequest", "-v", "1", "00"), "MetadataRequest is not a response"),
        (("decode", "--response", "-m", "9999", "-v", "1", "00"), "has no response with key 9999"),
        (
            ("decode", "--request", "-m", "MetadataRequest", "00"),
            "--request cannot be combined with --message and --version",
        ),
        (("decode", "-m", "MetadataResponse", "-v", "1", "nofile.bin"), "'nofile.bin' is neither hex, nor JSON, nor"),
        (
            ("decode", "-m", "MetadataResponse", "-v", "1", "."),
            ". is a folder: name a file, or read a capture",
        ),
        (("plan", "MetadataRespons"), "did you mean"),
        (("plan",), "Missing argument 'NAME'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_usage_error_explains_and_exits_with_2(arguments: tuple[str, ...], complaint: str) -> None:
    done = run(*arguments)

    assert complaint in " ".join(done.err.split())
    assert done.out == ""
    assert done.code == 2


def test_name_alone_shows_things_to_try() -> None:
    done = run()

    assert (done.code, done.err) == (0, "")
    commands = re.findall(r"^  (?:kafka -b HOST:9092|kwire) (\w+)(?: (\w+))?", done.out, flags=re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        assert run(*filter(str.islower, command), "--help").code == 0


def test_help_is_a_command_too() -> None:
    for words in ((), ("topics", "create"), ("decode",)):
        assert run("help", *words).out == run(*words, "--help").out


def test_messages_are_found_in_any_case() -> None:
    assert run("messages", "METADATARESPONSE").out == run("messages", "MetadataResponse").out
    assert run("messages", "metadata").out == run("messages", "Metadata").out
    body = ("-v", "1", "00 00 00 00 00 00 00 01 00 00 00 00")
    assert run("decode", "-m", "metadataresponse", *body).code == 0
    assert run("decode", "--response", "-m", "metadata", "-v", "1", "00000007", body[2]).code == 0


@for_rows("arguments", [(), ("",)])
def test_empty_input_is_said(arguments: tuple[str, ...]) -> None:
    done = run("decode", *arguments, stdin="")

    assert (done.code, done.err) == (1, "Error: the input is empty: expected hex, JSON, or bytes\n")


@for_rows(
    ("given", "complaint"),
    [("0", "odd number of hex digits: 1"), ("0x0g", "'0x0g' is neither hex, nor")],
)
def test_malformed_hex_is_explained(given: str, complaint: str) -> None:
    assert complaint in run("decode", "-m", "MetadataResponse", "-v", "1", given).err


def test_help_imports_the_commands_and_no_library_for_terminals() -> None:
    listed = modules_after("--help")

    assert "kwire.cli.commands.decode" in listed
    assert not listed & {"rich", "prompt_toolkit", "numpy", "pyarrow", "pyspark", "starlette"}


@for_rows(
    "arguments",
    [
        ("decode", "-m", "MetadataResponse", "-v", "0", "0000000000000000"),
        ("plan", "MetadataResponse"),
        ("messages",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_rich_is_not_imported_without_a_terminal(arguments: tuple[str, ...]) -> None:
    assert not modules_after(*arguments) & {"rich", "asyncio", "importlib.metadata", "prompt_toolkit"}


def modules_after(*arguments: str) -> set[str]:
    """Return the modules that are loaded at the end of a run."""
    listing = (
        "import sys, atexit; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr));"
        "from kwire.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", listing, *arguments], capture_output=True, text=True, env=environment(), check=True
    )
    return set(done.stderr.split())


def test_missing_click_is_explained(tmp_path: Path) -> None:
    python = empty_environment(sys.executable, tmp_path / "empty")

    done = subprocess.run(
        [python, "-m", "kwire", "messages"],
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(ROOT / "python")),
        check=False,
    )

    assert done.stderr == "Error: the command line needs click: pip install 'kwire[cli]'\n"
    assert done.returncode == 2


def test_commands_do_not_share_option_objects() -> None:
    """Shared options are created for each command, so that a change in one does not affect others."""
    parameters = [cast("Any", command(name)).params for name in command_names()]

    assert len({id(parameter) for group in parameters for parameter in group}) == sum(map(len, parameters))
