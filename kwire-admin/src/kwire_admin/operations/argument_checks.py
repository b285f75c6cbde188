"""Checks of arguments that follow from declarations: lengths of lists, ranges of numbers, and required parameters.

OpenAPI documents derive from the same declarations, so a request that fits the document passes these checks.
"""

from __future__ import annotations

from operator import attrgetter

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire._util.secret import Secret
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_admin.operations.parameters import Parameter

__all__ = ["Choice", "check_arguments"]


class Choice(NamedTuple):
    """A rule about parameters: some must be given, or they exclude each other.

    Attributes:
        parameters: their names.
        least: the least number of them that must be given.
        most: the largest number of them that can be given; None for all.
        condition: the name of a parameter and the value with which the choice applies; None for any value.
    """

    parameters: tuple[str, ...]
    least: int = 1
    most: int | None = None
    condition: tuple[str, str] | None = None


def _is_given(parameter: Parameter, value: Any) -> bool:
    """Return whether a value selects something, unlike the values of a parameter that is left out."""
    return value is not None and value is not False and value not in ([], parameter.default)


def check_arguments(
    parameters: Sequence[Parameter],
    choices: Sequence[Choice],
    values: Mapping[str, Any],
    words: Callable[[Parameter], str] = attrgetter("name_in_words"),
) -> None:
    """Check the values of an operation against its declared parameters and choices.

    Args:
        parameters: the parameters.
        choices: the rules about several parameters.
        values: the value of each parameter by name.
        words: returns the name of a parameter for errors. By default, it is the name in a command line.

    Raises:
        InvalidArgument: a list is empty, a number or a length is out of range, or a choice is not made.
    """
    for parameter in parameters:
        _check_values(parameter, values[parameter.name], words(parameter))
    declared = {parameter.name: parameter for parameter in parameters}
    named = {name: words(parameter) for name, parameter in declared.items()}
    for choice in choices:
        if choice.condition is not None and values[choice.condition[0]] != choice.condition[1]:
            continue
        when = "" if choice.condition is None else f" with {named[choice.condition[0]]} {choice.condition[1]}"
        count = sum(_is_given(declared[name], values[name]) for name in choice.parameters)
        *others, last = (named[name] for name in choice.parameters)
        listed = f"{', '.join(others)}{',' if len(others) > 1 else ''} and {last}"
        if count < choice.least:
            number = "one" if choice.most == 1 else "at least one"
            raise InvalidArgument(f"give {f'{number} of {listed}' if others else last}{when}")
        if choice.most is not None and count > choice.most:
            raise InvalidArgument(f"give only one of {listed}{when}")


def _check_values(parameter: Parameter, value: Any, name: str) -> None:
    declared = parameter.declared
    if declared.item is not None and not value:
        raise InvalidArgument(f"name at least one {declared.item}")
    if value is None or (declared.minimum is None and declared.maximum is None):
        return
    for one in value if parameter.many else [value]:
        number = one if isinstance(one, int | float) else len(one.reveal() if isinstance(one, Secret) else one)
        if declared.minimum is not None and not number >= declared.minimum:
            bound = f"at least {declared.minimum}"
        elif declared.maximum is not None and not number <= declared.maximum:
            bound = f"at most {declared.maximum}"
        else:
            continue
        if number is one:
            raise InvalidArgument(f"{name}: expected {bound}, found {one}")
        raise InvalidArgument(f"{name}: expected {bound} characters, found {number}")
