"""Commands and options as click declares them, in the form of `grammar_file`.

The specification of a value is a dict; a missing key means that nothing completes it:

| key | value |
|---|---|
| `flag` | True for an option without a value |
| `many` | True for a parameter that takes several values |
| `choices` | the possible values |
| `kind` | `files`, `directories`, a kind of names that a cluster has, or `clusters` or `messages`, which need none |
| `typed` | the separator, and kinds of names by type, for values such as `topic/orders` |
| `configs` | kinds of names by the type of the resource that is named before, for names of configs |
| `suffix` | what follows a completed name, such as `=` |
| `help` | the help of an option |
"""

from __future__ import annotations

import click

from kwire._util.light_typing import Any, TypeAlias
from kwire.terminal.parameter_types import Named
from kwire_admin.cli.program import program
from kwire_admin.operations import registry
from kwire_admin.operations.names import CONFIGS, TYPED

__all__ = ["Grammar", "read_commands", "read_statements"]

Grammar: TypeAlias = dict[str, Any]
"""The grammar of a group or a command, or the specification of a value."""


def read_commands() -> Grammar:
    """Return the grammar of all commands."""
    return _with_aliases(_group(program, click.Context(program)))


def read_statements() -> Grammar:
    """Return the grammar of the statements of the shell."""
    from kwire_admin.cli.shell.statement_group import STATEMENTS

    return _with_aliases(_group(STATEMENTS, click.Context(STATEMENTS)))


def _with_aliases(grammar: Grammar) -> Grammar:
    """Return a grammar with the other names of nouns."""
    grammar["aliases"] = {alias: noun for noun in registry.nouns() for alias in registry.noun_aliases(noun)}
    return grammar


def _group(group: click.Group, context: click.Context) -> Grammar:
    commands: Grammar = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not command.hidden:
            inner = click.Context(command, parent=context, info_name=name)
            commands[name] = _group(command, inner) if isinstance(command, click.Group) else _command(command, inner)
    return {
        "help": group.get_short_help_str(80),
        "options": _options(group, context),
        "commands": commands,
        "aliases": {alias: name for alias, name in registry.VERB_ALIASES.items() if name in commands},
    }


def _command(command: click.Command, context: click.Context) -> Grammar:
    return {
        "help": command.get_short_help_str(80),
        "options": _options(command, context),
        "arguments": [_specification(param) for param in command.params if isinstance(param, click.Argument)],
    }


def _options(command: click.Command, context: click.Context) -> Grammar:
    options: Grammar = {}
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            for name in (*parameter.opts, *parameter.secondary_opts):
                options[name] = _specification(parameter)
    return options


def _specification(parameter: click.Parameter) -> Grammar:
    specification: Grammar = {}
    if isinstance(parameter, click.Option):
        specification["help"] = (parameter.help or "").partition("\n")[0]
        if parameter.is_flag:
            specification["flag"] = True
    if parameter.nargs == -1 or parameter.multiple:
        specification["many"] = True
    if isinstance(parameter.type, click.Choice):
        specification["choices"] = tuple(str(choice) for choice in parameter.type.choices)
    elif isinstance(parameter.type, click.Path):
        specification["kind"] = "files" if parameter.type.file_okay else "directories"
    kind = parameter.type.completes if isinstance(parameter.type, Named) else None
    if kind is not None and kind in TYPED:
        separator, by_type = TYPED[kind]
        specification["typed"] = (separator, dict(by_type))
    elif kind == "configs":
        specification["configs"] = dict(CONFIGS)
    elif kind is not None:
        specification["kind"] = kind
    if kind is not None and parameter.metavar is not None and "KEY=VALUE" in parameter.metavar:
        specification["suffix"] = "="
    return specification
