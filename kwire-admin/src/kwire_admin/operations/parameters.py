"""Typed parameters of operations: verbs and tools declare them as annotations, and command lines derive from them.

    async def create(run: Run, names: Annotated[list[str], Argument("Names of the topics.")]) -> Rows[Change]: ...

A parameter with `Argument` is positional; a type `list[...]` takes any number of values. A parameter with `Option` is
an option named after it; `bool` makes a flag, `list[...]` an option that can be repeated, and a StrEnum a choice. A
parameter whose type is a dataclass stands for the fields of the class, which are annotated in the same way.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from functools import cache
from operator import attrgetter

from kwire._util.light_dataclasses import MISSING, fields, is_dataclass
from kwire._util.light_typing import TYPE_CHECKING, Annotated, Any, NamedTuple, evaluated_annotations
from kwire._util.secret import Secret

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

REQUIRED: Any = object()
"""The default of a parameter without a default."""
MAP_ENTRY = r"([^=\[]+\[[\s\S]*?\])\s*(=)([\s\S]*)"
"""Pattern of a config that is an entry of a map, with words between brackets that may contain `=`."""


class Danger(IntEnum):
    """Effect of an operation on a cluster. Changing operations have a dry run; destructive ones ask first."""

    READS = 0
    CHANGES = 1
    DESTROYS = 2


class Address(str):
    """An address to connect to, apart from the cluster on which the operation works.

    A node runs an operation with such a value only for users who may alter the cluster.
    """

    __slots__ = ()


class FileNames(str):
    """A text that names several files. See `Address`: the same applies to it, and to paths."""

    __slots__ = ()


class InvalidArgument(ValueError):
    """The text of an argument is not valid."""


class NotFound(InvalidArgument):
    """A valid argument names something that does not exist."""


class Conflict(InvalidArgument):
    """The state of the cluster does not allow valid arguments."""


class Syntax(NamedTuple):
    """The syntax of a text: its parser matches the pattern that OpenAPI documents have.

    Attributes:
        pattern: a regular expression for the whole text. Python, ECMA 262 (JSON Schema), and Rust must read it alike,
            so it has no dot, no classes such as digits, and no lookaround.
        expected: the end of the error, such as `a partition: write TOPIC:N, such as orders:0`.
    """

    pattern: str
    expected: str

    def match(self, text: str) -> re.Match[str]:
        """Return the match of a text.

        Raises:
            InvalidArgument: the text does not have the syntax.
        """
        import re  # a command whose arguments have no syntax does without it

        match = re.fullmatch(self.pattern, text)
        if match is None:
            raise InvalidArgument(f"{text!r} is not {self.expected}")
        return match


def _numbers_to(maximum: int) -> str:
    """Return a pattern for the numbers from 1 to a maximum of several digits, without leading zeros."""
    digits = str(maximum)
    numbers = [f"[1-9][0-9]{{0,{len(digits) - 2}}}"]
    for index, digit in enumerate(digits):  # equal to the maximum before this digit, and below it from there on
        lowest = int(index == 0)
        if int(digit) > lowest:
            numbers.append(f"{digits[:index]}[{lowest}-{int(digit) - 1}][0-9]{{{len(digits) - index - 1}}}")
    return f"(?:{'|'.join([*numbers, digits])})"


PORT = _numbers_to(2**16 - 1)
"""The pattern of a port."""
INDEX = f"(?:0|{_numbers_to(2**31 - 1)})"
"""The pattern of a broker id, or of a partition of a topic: an int32 that is not negative."""
CONFIG = Syntax(r"[^=][\s\S]*=[\s\S]*", "a config: write KEY=VALUE")
NODE = Syntax(f"any|{INDEX}", "a node: write its id, or any")
REPLICA_ASSIGNMENT = Syntax(
    f"{INDEX}(?::{INDEX})*(?:,{INDEX}(?::{INDEX})*)*",
    "a replica assignment: write broker ids with ':' between the replicas of a partition and ',' between partitions, "
    "such as 1:2,2:3",
)


class Argument(NamedTuple):
    """The help of a positional parameter.

    Attributes:
        help: description of the argument, as a sentence.
        metavar: its placeholder; by default, the name of the parameter in upper case.
        completes: the kind of names that complete it, such as `topics`.
        document: true if it is a text file that the operation reads. Over HTTP, its value is the text.
        syntax: the syntax of each text; None for any text.
        minimum: the least number, or the least length of a text.
        maximum: the largest number, or the largest length of a text.
        item: one value of a list that must not be empty, such as `topic`; None if it can be empty.
    """

    help: str
    metavar: str | None = None
    completes: str | None = None
    document: bool = False
    syntax: Syntax | None = None
    minimum: float | None = None
    maximum: float | None = None
    item: str | None = None


class Option(NamedTuple):
    """The help of an option. See Argument.

    Attributes:
        short: a short form, such as `-p`.
        also: other names, such as `--zkconnect` of Kafka's tool.
        excludes: values of an enumeration that make no sense here.
    """

    help: str
    metavar: str | None = None
    completes: str | None = None
    short: str | None = None
    also: tuple[str, ...] = ()
    document: bool = False
    excludes: tuple[str, ...] = ()
    syntax: Syntax | None = None
    minimum: float | None = None
    maximum: float | None = None
    item: str | None = None

    def names(self, parameter: str) -> tuple[str, ...]:
        """Return the names of the option in a command line, the main one first."""
        main = f"--{parameter.strip('_').replace('_', '-')}"
        return (main, *self.also, *((self.short,) if self.short else ()))


class Parameter(NamedTuple):
    """A parameter of an operation.

    Attributes:
        name: its name in Python.
        type: the type of one value.
        many: true if it takes several values.
        declared: its Argument or Option.
        default: its default; REQUIRED if it has none.
    """

    name: str
    type: Any
    many: bool
    declared: Argument | Option
    default: Any

    @property
    def required(self) -> bool:
        """True if a value must be given."""
        return self.default is REQUIRED

    @property
    def must_be_given(self) -> bool:
        """True if a run needs a value. A list can be left out if it can be empty."""
        return self.declared.item is not None if self.many else self.required

    @property
    def name_in_words(self) -> str:
        """The name in a command line, such as `--shift-by`, or the placeholder of a positional parameter."""
        if isinstance(self.declared, Option):
            return self.declared.names(self.name)[0]
        return self.declared.metavar or self.name.upper()

    @property
    def choices(self) -> tuple[str, ...] | None:
        """The values that can be chosen; None if the type is not an enumeration.

        `UNKNOWN` is not one of them: it stands for values that a broker reports and kwire has no name for.
        """
        if not (isinstance(self.type, type) and issubclass(self.type, Enum)):
            return None
        excluded = self.declared.excludes if isinstance(self.declared, Option) else ()
        return tuple(member.value for member in self.type if member.name != "UNKNOWN" and member.value not in excluded)

    @property
    def flag(self) -> bool:
        """True for an option without a value."""
        return self.type is bool


annotations_of = cache(evaluated_annotations)
"""Annotations of a function, which a command needs for its parameters, its arguments, and its result."""


@cache
def declared_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a function in its order, without `run`.

    A dataclass in place of many parameters stands for its fields.

    Raises:
        TypeError: a parameter has neither Argument nor Option.
    """
    hints = annotations_of(function)
    parameters: list[Parameter] = []
    for name, default in _defaults(function).items():
        hint: Any = hints.get(name)
        if name == "run":
            continue
        if is_dataclass(hint):
            hints_of_fields = evaluated_annotations(hint)
            parameters += (_declared(function, of.name, hints_of_fields[of.name], _default(of)) for of in fields(hint))
        else:
            parameters.append(_declared(function, name, hint, default))
    return tuple(parameters)


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of the parameters of a function in its order, without the import of `inspect`."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = dict.fromkeys(names, REQUIRED)
    positional = function.__defaults__ or ()
    defaults.update(zip(names[code.co_argcount - len(positional) : code.co_argcount], positional, strict=True))
    defaults.update(function.__kwdefaults__ or {})
    return defaults


def _default(of: Any) -> Any:
    if of.default_factory is not MISSING:
        return of.default_factory()
    return REQUIRED if of.default is MISSING else of.default


def _declared(function: Callable[..., Any], name: str, hint: Any, default: Any) -> Parameter:
    if hasattr(hint, "__metadata__"):  # `Annotated` of `typing`, which a package of tools may have imported
        kind, declared = hint.__origin__, hint.__metadata__[0]
    elif getattr(hint, "__origin__", None) is Annotated:
        kind, declared = hint.__args__[:2]
    else:
        raise TypeError(f"{function.__module__}: parameter {name} has neither Argument nor Option")
    many = getattr(kind, "__origin__", None) is list
    return Parameter(name, _without_none(kind.__args__[0] if many else kind), many, declared, default)


TAKES_ANY = 8
"""The flag of code with `**values` (CO_VARKEYWORDS of `inspect`)."""


@cache
def _groups(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the dataclasses among the types of the parameters of a function, by the name of the parameter.

    A function that takes any arguments has none.
    """
    if function.__code__.co_flags & TAKES_ANY:
        return {}
    hints = annotations_of(function)
    return {name: hint for name, hint in hints.items() if name not in ("run", "return") and is_dataclass(hint)}


def call_arguments(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function for the values of its declared parameters."""
    arguments = dict(values)
    for name, group in _groups(function).items():
        named = {of.name for of in fields(group)}
        arguments[name] = group(**{given: arguments.pop(given) for given in values if given in named})
    return arguments


def _without_none(kind: Any) -> Any:
    """Return the type of a value that is given: `int` for `int | None`."""
    types = getattr(kind, "__args__", ())
    members = [member for member in types if member is not type(None)]
    return members[0] if len(members) == 1 and len(types) > 1 else kind


def typed(parameter: Parameter, value: Any) -> Any:
    """Return the value of a parameter from the value of click: a list for a tuple, and members of enumerations."""
    kind = parameter.type
    if isinstance(kind, type) and issubclass(kind, Enum) and value is not None:
        value = [kind(text) for text in value] if parameter.many else kind(value)
    if not parameter.many:
        return value
    # To click, an option that is not given is an empty tuple, whatever its default is.
    return [*value] or ([] if parameter.required else parameter.default)


def read_argument(path: Path) -> str:
    """Return the text of a file that an argument names.

    Raises:
        InvalidArgument: the file cannot be read, or is not a text.
    """
    from kwire._util.text_files import EncodingError, read_text

    try:
        return read_text(path)
    except OSError as error:
        raise InvalidArgument(f"cannot read {path}: {error.strerror or error}") from None
    except EncodingError as error:
        raise InvalidArgument(f"{path}: {error}") from None


def parse_configs(texts: Sequence[str]) -> Mapping[str, str]:
    """Return configs from texts such as `retention.ms=1000` or `topic_security['pci']=true`.

    Raises:
        InvalidArgument: a text has no `=`, or a key is given twice.
    """
    import re

    configs: dict[str, str] = {}
    for text in texts:
        CONFIG.match(text)
        entry = re.fullmatch(MAP_ENTRY, text)
        key, _, value = entry.groups() if entry is not None else text.partition("=")
        if key in configs:
            raise InvalidArgument(f"config {key} is given twice")
        configs[key] = value
    return configs


def check_collisions(new: Iterable[str], existing: Iterable[str] = ()) -> None:
    """Check that no new topic has the name of another topic but for dots and underscores.

    Kafka's metrics write both as `_`. A broker refuses such a name beside an existing topic, but Kafka 4.4 accepts two
    that one request creates.

    Raises:
        InvalidArgument: two names collide.
    """
    names = {name.replace(".", "_"): name for name in existing}
    for name in new:
        other = names.setdefault(name.replace(".", "_"), name)
        if other != name:
            raise InvalidArgument(
                f"the topics {other} and {name} collide: metrics write a dot as an underscore; use only one of both"
            )


def parse_node(text: str) -> int | None:
    """Return the id of a node; None for `any`.

    Raises:
        InvalidArgument: the text is neither.
    """
    return None if NODE.match(text).string == "any" else int(text)


def parse_assignment(text: str | None) -> Mapping[int, Sequence[int]]:
    """Return an assignment from a text such as `1:2,2:3`: broker ids, `:` between replicas, `,` between partitions.

    Raises:
        InvalidArgument: the text is not an assignment.
    """
    if text is None:
        return {}
    REPLICA_ASSIGNMENT.match(text)
    return {
        index: tuple(int(broker) for broker in replicas.split(":")) for index, replicas in enumerate(text.split(","))
    }


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
