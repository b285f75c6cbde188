"""The statements of the shell: the verbs of the registry, and what only a shell has.

A statement that only a shell has is the function of its name in the module of that name in `statements`; adding the
file adds the statement.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from pathlib import Path

import click

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.similar_names import similar
from kwire_admin.operations import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["STATEMENTS", "StatementGroup", "run_words", "statement_help", "statement_names"]

FOLDER = Path(__file__).with_name("statements")
"""The modules of the statements."""


ALIASES = {"quit": "exit"}
"""Other names of statements, from other shells."""


@cache
def statement_names() -> tuple[str, ...]:
    """Return the names of the statements that are not verbs, in alphabetical order."""
    return tuple(sorted(path.stem.strip("_") for path in FOLDER.glob("*.py") if path.stem != "__init__"))


def statement_help(name: str) -> str:
    """Return the first line of the help of a statement."""
    return inspect.cleandoc(_statement(name).help or "").partition("\n")[0]


def _statement(name: str) -> click.Command:
    """Import a statement. One that has the name of a builtin of Python has an underscore at the end of its module."""
    module = next(path.stem for path in FOLDER.glob("*.py") if path.stem.strip("_") == name)
    command: click.Command = getattr(import_module(f"{__package__}.statements.{module}"), module)
    return command


class StatementGroup(click.Group):
    """The statements, each imported when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted((*statement_names(), *registry.nouns()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name in statement_names():
            return _statement(cmd_name)
        noun = registry.find_noun(cmd_name)
        if noun is None:
            return None
        from kwire_admin.cli.verb_command import NounGroup

        return NounGroup(noun)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a statement, and suggest similar ones for a misspelled name."""
        name = args[0]
        if self.get_command(ctx, name) is None:
            suggested = similar(name, tuple(self.list_commands(ctx)))
            hint = f"did you mean {' or '.join(suggested)}?" if suggested else "help; lists the statements"
            raise click.UsageError(f"unknown statement '{name}': {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage: statements follow no program and no options."""
        del ctx
        formatter.write("Usage: STATEMENT;\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of statements with their short help."""
        del ctx
        with formatter.section("Statements"):
            formatter.write_dl([(name, statement_help(name)) for name in statement_names()])
        with formatter.section("Administration, as in the command kafka"):
            formatter.write_dl([(noun, registry.noun_help(noun)) for noun in registry.nouns()])


STATEMENTS = StatementGroup(
    add_help_option=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Statements end with ; and may span lines. `set` also ends with the line.",
)


def run_words(words: Sequence[str]) -> int:
    """Run a statement that the current one stands for, and return its exit code."""
    current = click.get_current_context()
    with STATEMENTS.make_context(None, list(words), obj=current.obj) as context:
        context.meta.update(current.meta)
        return int(STATEMENTS.invoke(context) or 0)
