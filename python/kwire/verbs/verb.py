"""Declarations of verbs: what an operation on a cluster is called, takes, changes, and returns.

A verb is an asynchronous function in a module of a noun's package: `topics/create.py` has `kafka topics create`.
Its parameters are type hints with a help text; the command line, the shell, and documentation derive from them.

    @verb(Danger.CHANGES)
    async def create(run: Run, names: Annotated[list[str], Argument("Names of the topics.")]) -> Rows[Change]:
        \"\"\"Create topics.\"\"\"

A parameter with `Argument` is positional; a type `list[...]` takes any number of values. A parameter with `Option` is
an option named after it; `bool` makes a flag, `list[...]` an option that can be repeated, and a StrEnum a choice.
A Secret is never an argument of a process: `password` is read from the file of `--password-file`, stdin, or a prompt.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kwire.client.admin import AdminClient, AdminError, Progress
    from kwire.protocol.negotiated_versions import Dialect

__all__ = ["Argument", "Danger", "Failed", "Failure", "Option", "Parameter", "Rows", "Run", "Unhealthy", "Verb", "verb"]

R = TypeVar("R")


class Danger(IntEnum):
    """What a verb does to a cluster. Verbs that change something have a dry run; verbs that destroy ask first."""

    READS = 0
    CHANGES = 1
    DESTROYS = 2


@dataclass(frozen=True, slots=True)
class Argument:
    """The help of a positional parameter.

    Attributes:
        help: what the argument is, as a sentence.
        metavar: its placeholder; by default, the name of the parameter in upper case.
        completes: the kind of names that complete it, such as `topics`.
    """

    help: str
    metavar: str | None = None
    completes: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """The help of an option. See Argument.

    Attributes:
        short: a short form, such as `-p`.
        required: whether it must be given although the parameter has a default.
    """

    help: str
    metavar: str | None = None
    completes: str | None = None
    short: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that a broker refused, in place of its row.

    Attributes:
        name: the item, such as a topic.
        error: the error of the broker.
    """

    name: str
    error: AdminError


Rows: TypeAlias = list[R | Failure]
"""The result of a verb: a dataclass instance for each item, or the failure of the item."""


class Unhealthy(Exception):
    """The answer of a verb that checks something is no. The rows say what is wrong.

    Attributes:
        rows: the result.
        summary: one sentence.
    """

    def __init__(self, rows: Sequence[Any], summary: str) -> None:
        super().__init__(summary)
        self.rows = rows
        self.summary = summary


class Failed(Unhealthy):
    """Something that a verb has run has failed. The rows say how."""


def _accept(text: str) -> None:
    """Do nothing with a question or a sentence."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a verb runs with.

    Attributes:
        admin: a client of the cluster.
        dry_run: report what would change, and change nothing.
        wait: seconds to wait until every broker reports a change; 0 does not wait.
        confirm: asks before something is destroyed. It raises if the answer is no.
        on_progress: called while waiting.
        warn: prints a sentence that is not part of the result.
    """

    admin: AdminClient
    dry_run: bool = False
    wait: float = 30.0
    confirm: Callable[[str], None] = _accept
    on_progress: Callable[[Progress], None] | None = None
    warn: Callable[[str], None] = _accept


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a verb.

    Attributes:
        name: its name in Python.
        type: the type of one value.
        many: whether it takes several values.
        declared: its Argument or Option.
        default: its default; `inspect.Parameter.empty` if it is required.
    """

    name: str
    type: Any
    many: bool
    declared: Argument | Option
    default: Any

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is inspect.Parameter.empty

    @property
    def flag(self) -> bool:
        """Whether it is an option without a value."""
        return self.type is bool


@dataclass(frozen=True)
class Verb(Generic[R]):
    """An operation on a cluster.

    Attributes:
        function: what it does.
        danger: what it does to the cluster.
        dialects: the dialects that have it.
        examples: command lines without the program and the cluster, for the help.
        lists: the kind of names in the first column, such as `topics`, if a run without arguments lists all of them.
    """

    function: Callable[..., Awaitable[Rows[R]]]
    danger: Danger = Danger.READS
    dialects: tuple[Dialect, ...] = ("kafka", "kip4")
    examples: tuple[str, ...] = ()
    lists: str | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits until every broker reports its change: whether its function reads `run.wait`."""
        return "wait" in self.function.__code__.co_names

    @property
    def name(self) -> str:
        """The name in a command line, such as `reset-offsets`."""
        return self.function.__module__.rpartition(".")[2].strip("_").replace("_", "-")

    @property
    def noun(self) -> str:
        """The name of the noun in a command line, such as `topics`."""
        return self.function.__module__.split(".")[-2].replace("_", "-")

    @property
    def help(self) -> str:
        """The docstring without `Args` and `Raises`."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def result(self) -> Any:
        """The class of the rows."""
        returned = get_type_hints(self.function, include_extras=True)["return"]
        candidates = [each for each in get_args(get_args(returned)[0]) or get_args(returned) if each is not Failure]
        return candidates[0]

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters in the order of the function.

        Raises:
            TypeError: a parameter has neither Argument nor Option.
        """
        hints = get_type_hints(self.function, include_extras=True)
        found = []
        for name, parameter in inspect.signature(self.function).parameters.items():
            if name == "run":
                continue
            if get_origin(hints[name]) is not Annotated:
                raise TypeError(f"{self.function.__module__}: parameter {name} has neither Argument nor Option")
            kind, declared = get_args(hints[name])[:2]
            many = get_origin(kind) is list
            found.append(
                Parameter(name, _without_none(get_args(kind)[0] if many else kind), many, declared, parameter.default)
            )
        return tuple(found)

    async def __call__(self, run: Run, **values: Any) -> Rows[R]:
        """Run the verb.

        Args:
            run: the client and how to run.
            values: the parameters by name.
        """
        return await self.function(run, **values)


def verb(
    danger: Danger = Danger.READS,
    *,
    dialects: tuple[Dialect, ...] = ("kafka", "kip4"),
    examples: tuple[str, ...] = (),
    lists: str | None = None,
) -> Callable[[Callable[..., Awaitable[Rows[R]]]], Verb[R]]:
    """Declare a function as a verb. See the attributes of Verb."""

    def declare(function: Callable[..., Awaitable[Rows[R]]]) -> Verb[R]:
        return Verb(function, danger, dialects, examples, lists)

    return declare


def _without_none(kind: Any) -> Any:
    """Return the type of a value that is given: `int` for `int | None`."""
    given = [each for each in get_args(kind) if each is not type(None)]
    return given[0] if len(given) == 1 and type(None) in get_args(kind) else kind
