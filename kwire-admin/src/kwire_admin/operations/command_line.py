"""Operations as click commands: the one parser of the command, the shell, and requests that run tools on nodes.

click is imported with this module, so that Python programs that pass values instead of words do without it.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from pathlib import Path

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.secret import Secret
from kwire.terminal.parameter_types import Named
from kwire_admin.operations.declaration import Need
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option, typed

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kwire_admin.operations.declaration import Operation
    from kwire_admin.operations.parameters import Parameter

WITHOUT_EFFECT = "Accepted for the sake of old scripts, without effect."
"""The help of an option that only Kafka's tool needs."""
WIDTH = 100
"""Columns of the help of a tool, which a node formats without a terminal."""

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
"""Settings of click for every tool."""


class HelpRequested(Exception):
    """The words ask for the help of the tool."""


class UncheckedPath(click.Path):
    """A path that is not looked at. A node must not tell clients which files it can read."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # click's own type is the union of all that `path_type` can return
        del param, ctx
        return Path(value)


class _ToolCommand(click.Command):
    """A command that raises HelpRequested instead of printing its help."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _request_help
        return option


def _request_help(context: click.Context, option: click.Parameter, value: bool) -> None:
    del option
    if value and not context.resilient_parsing:
        raise HelpRequested


def click_parameters(operation: Operation) -> list[click.Parameter]:
    """Return new parameters of click: those of the function, the implicit ones, and options without effect."""
    taken: set[str] = set()
    parameters: list[click.Parameter] = []
    for parameter in (*operation.parameters, *operation.common_parameters):
        declared = parameter.declared
        if isinstance(declared, Argument):
            parameters.append(_argument(parameter, declared))
            continue
        # The function's own options come first: an implicit option only gets the names that are left.
        names = [name for name in declared.names(parameter.name) if name not in taken]
        taken.update(names)
        parameters.append(_option(parameter, declared, names))
    for index, text in enumerate(operation.without_effect):
        name, _, metavar = text.partition(" ")
        kind: dict[str, Any] = {"metavar": metavar} if metavar else {"is_flag": True}
        parameters.append(
            click.Option([name, f"without_effect_{index}"], expose_value=False, help=WITHOUT_EFFECT, **kind)
        )
    return parameters


def _repeatable(text: str) -> str:
    """Return the help of an option that can be repeated, which other callers of an operation pass as a list."""
    sentence, bracket, default = text.removesuffix(".").partition(" [")
    return f"{sentence}. Can be given several times{bracket}{default}."


def _argument(parameter: Parameter, declared: Argument) -> click.Argument:
    metavar = declared.metavar or parameter.name.upper()
    required = parameter.required and not parameter.many
    shown = f"[{metavar}]..." if parameter.many else metavar if required else f"[{metavar}]"
    return click.Argument(
        [parameter.name],
        type=_type(parameter),
        nargs=-1 if parameter.many else 1,
        required=required,
        metavar=shown,
        **_default(parameter),
    )


def _option(parameter: Parameter, declared: Option, names: Sequence[str]) -> click.Option:
    if parameter.type is Secret:  # never in the arguments of a process, which all users of the machine can read
        return click.Option(
            [f"--{parameter.name.replace('_', '-')}-file", parameter.name],
            type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
            metavar=declared.metavar,
            help=f"{declared.help} Read from this file; - is stdin [default: ask].",
        )
    return click.Option(
        [*names, parameter.name],
        type=_type(parameter),
        # Without a default, click takes `is_flag=False` for an option with an optional value, and refuses `--time -2`.
        is_flag=parameter.flag or None,
        multiple=parameter.many,
        required=parameter.required,
        metavar=declared.metavar,
        help=_repeatable(declared.help) if parameter.many else declared.help,
        **_default(parameter),
    )


def _default(parameter: Parameter) -> dict[str, Any]:
    """Return the default for click, to which None is a value, so a required parameter must not have it."""
    if parameter.many or parameter.required:
        return {}
    default = parameter.default
    return {"default": default.value if isinstance(default, Enum) else default}


def _type(parameter: Parameter) -> Any:
    if parameter.choices is not None:
        return click.Choice(parameter.choices, case_sensitive=False)
    if parameter.type is bool:
        return None
    if parameter.type is Path:
        return UncheckedPath(path_type=Path)
    if parameter.declared.completes is not None:
        return Named(parameter.declared.completes, parameter.type)
    return parameter.type


def parse_words(tool: Operation, words: Sequence[str]) -> tuple[Operation, dict[str, Any]]:
    """Return the operation that words choose, which is the tool or one of its commands, and its values by name.

    Raises:
        InvalidArgument: the words do not fit the parameters.
        HelpRequested: `--help` is among them.
    """
    chosen, rest = _choose(tool, words)
    command = _command(tool, chosen)
    try:
        values = command.make_context(command.name, _one_option_each(chosen, rest)).params
    except click.NoSuchOption as error:
        similar = " or ".join(sorted(error.possibilities or ()))
        hint = f"; did you mean {similar}?" if similar else ""
        if (reason := chosen.refused.get(error.option_name)) is not None:
            hint = f": {reason}"
        raise InvalidArgument(f"no such option: {error.option_name[:100]}{hint}") from None
    except click.UsageError as error:
        # One line: click lists choices in lines of their own, and a value of the user can have line breaks.
        sentence = " ".join(error.format_message().split()).removesuffix(".")
        raise InvalidArgument(sentence[:1].lower() + sentence[1:]) from None
    parameters = (*chosen.parameters, *chosen.common_parameters)
    return chosen, {parameter.name: typed(parameter, values[parameter.name]) for parameter in parameters}


def _choose(tool: Operation, words: Sequence[str]) -> tuple[Operation, Sequence[str]]:
    """Return the command that the first word chooses, if the tool has commands, and the words after it."""
    if not tool.commands:
        return tool, words
    if {"-h", "--help"}.intersection(words[:1]):
        raise HelpRequested
    names = [command.name for command in tool.commands]
    if not words or words[0] not in names:
        received = f", found {words[0][:100]!r}" if words else ""
        raise InvalidArgument(f"expected one of {', '.join(names)}{received}")
    return tool.commands[names.index(words[0])], words[1:]


def _one_option_each(tool: Operation, words: Sequence[str]) -> list[str]:
    """Repeat an option before each of its values, which shells write for `--files *.log`.

    Only a tool without positional parameters can have them: otherwise, they would be ambiguous.
    """
    if any(isinstance(parameter.declared, Argument) for parameter in tool.parameters):
        return [*words]
    repeatable = {
        name
        for parameter in tool.parameters
        if parameter.many and isinstance(parameter.declared, Option)
        for name in parameter.declared.names(parameter.name)
    }
    repeated: list[str] = []
    option, values = None, 0
    for word in words:
        if word.startswith("-") and len(word) > 1:
            option, values = word if word in repeatable else None, 0
        elif option is not None:
            values += 1
            if values > 1:
                repeated.append(option)
        repeated.append(word)
    return repeated


def check_words(tool: Operation, words: Sequence[str]) -> None:
    """Check that words fit the parameters, or ask for the help.

    Raises:
        InvalidArgument: the words do not fit.
    """
    with suppress(HelpRequested):
        parse_words(tool, words)


def danger_of_words(tool: Operation, words: Sequence[str]) -> Danger:
    """Return the effect of a run with these words. Invalid words only explain the usage."""
    try:
        chosen, values = parse_words(tool, words)
    except (HelpRequested, InvalidArgument):
        return Danger.READS
    return chosen.danger_of(values)


def needs_given_cluster(tool: Operation, words: Sequence[str]) -> bool:
    """Return whether a run with these words needs brokers that the words do not name."""
    if Need.BROKERS not in tool.needs:
        return False
    try:
        _, values = parse_words(tool, words)
    except (HelpRequested, InvalidArgument):
        return False
    return all(values.get(name) is None for name in ("bootstrap_server", "command_config", "zookeeper"))


def usage(tool: Operation) -> str:
    """Return the help of a tool."""
    command = _command(tool, tool)
    context = click.Context(command, info_name=tool.name, terminal_width=WIDTH, max_content_width=WIDTH, **HELP_OPTIONS)
    return f"{command.get_help(context)}\n"


def _command(tool: Operation, chosen: Operation) -> click.Command:
    paragraphs = [chosen.help]
    if chosen.replaces:
        paragraphs.append(f"It replaces {', '.join(chosen.replaces)}.")
    if chosen.commands:
        paragraphs.append("\b\nCommands:" + "".join(f"\n  {_synopsis(command)}" for command in chosen.commands))
    if chosen.examples:
        paragraphs.append("\b\nExamples:" + "".join(f"\n  {chosen.name} {words}" for words in chosen.examples))
    return _ToolCommand(
        chosen.name if chosen is tool else f"{tool.name} {chosen.name}",
        params=click_parameters(chosen),
        help="\n\n".join(paragraphs),
        context_settings={**HELP_OPTIONS},
    )


def _synopsis(command: Operation) -> str:
    """Return one line: the name of a command, its parameters, and its summary."""
    shown = [
        (parameter.declared.metavar or parameter.name.upper()) + ("..." if parameter.many else "")
        if isinstance(parameter.declared, Argument)
        else f"[{parameter.declared.names(parameter.name)[0]}]"
        for parameter in command.parameters
    ]
    return f"{' '.join((command.name, *shown))}: {command.summary}"
