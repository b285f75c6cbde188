"""Declarations of operations: name, parameters, danger, result, and the places where an operation runs.

An operation is an asynchronous function. Parsers, help, completion, documentation, routes of
HTTP, and the permission on a node derive from its declaration.

    @operation(Danger.CHANGES, examples=("topics create orders",))
    async def create(run: Run, names: Annotated[list[str], Argument("Names of the topics.")]) -> Rows[Change]:
        \"\"\"Create topics.\"\"\"

    @operation(runs_on=ANYWHERE, needs={Need.ZOOKEEPER}, replaces=("kafka.tools.ExportZkOffsets",))
    async def export_zk_offsets(run: ToolRun, group: Annotated[list[str], Option("Only these groups.")] = []) -> None:
        \"\"\"Write the offsets in ZooKeeper as lines of text.\"\"\"
        store = await run.zookeeper()
        run.print("...")

| kind | file | runs on | result | `run` |
|---|---|---|---|---|
| verb, `kafka topics create` | `verbs/<noun>.py` | the client | rows | `Run` |
| tool, `kafka tools run NAME` | `tools/<tool>.py`, or a package | the client and nodes | printed lines | `ToolRun` |
| tool of nodes, `kafka tools run --broker ID NAME` | `node_tools/<tool>.py` | nodes | printed lines | `NodeRun` |

A tool fails by raising ToolFailed, a verb by raising Failed or returning a Failure for an item; both raise
InvalidArgument for an argument. `kwire_admin.operations.parameters` describes parameters.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from functools import cache, cached_property

from kwire._util.light_dataclasses import KW_ONLY, dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar
from kwire.errors import KwireError
from kwire_admin.operations.parameters import (
    Address,
    Danger,
    Option,
    Parameter,
    annotations_of,
    call_arguments,
    declared_parameters,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from kwire.authorization.requirement import Requirement
    from kwire.client.admin import AdminError
    from kwire.protocol.negotiated_versions import Dialect
    from kwire_admin.operations.parameters import Choice

R = TypeVar("R")

TIME_LIMIT_S = 60.0
"""Time limit of a tool in seconds, unless it declares another one or its caller sets one. Chosen, not measured."""


class Place(Enum):
    """A program that runs operations."""

    CLIENT = "client"
    NODE = "node"


CLIENT = frozenset({Place.CLIENT})
NODE = frozenset({Place.NODE})
ANYWHERE = CLIENT | NODE


class Need(StrEnum):
    """Something that an operation opens through its run. It adds the options that choose it."""

    ZOOKEEPER = "ZooKeeper"
    BROKERS = "brokers"
    FILES = "files"


class Failure(NamedTuple):
    """An item that a broker refused, in place of its row.

    Attributes:
        name: the item, such as a topic.
        error: the error of the broker.
    """

    name: str
    error: AdminError


if TYPE_CHECKING:
    Rows: TypeAlias = list[R | Failure]
else:

    class Rows:
        """The result of a verb: a dataclass instance for each item, or the failure of the item."""

        __class_getitem__ = classmethod(type(list[int]))


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


class TimedOut(Failed):
    """Something that a verb has run did not finish in time."""


class ToolFailed(KwireError):
    """A tool could not do its work.

    Attributes:
        exit_status: the exit status of the tool.
    """

    def __init__(self, sentence: str, exit_status: int = 1) -> None:
        """Make the error.

        Args:
            sentence: the reason, and what was done before.
            exit_status: see the attribute.
        """
        super().__init__(sentence)
        self.exit_status = exit_status


@cache
def options_of(need: Need) -> tuple[Parameter, ...]:
    """Return the options that a need adds."""
    if need is Need.ZOOKEEPER:
        zookeeper = Option(
            "The ZooKeeper of the cluster [on a node: its own].",
            "HOST:PORT[/CHROOT]",
            also=("--zkconnect", "--zookeeper.connect"),
        )
        return (Parameter("zookeeper", Address, False, zookeeper, None),)
    if need is Need.BROKERS:
        from pathlib import Path  # only tools need it, and a small command does without

        brokers = Option(
            "Some brokers of the cluster [default: those of the command; on a node: the node].",
            "HOST:PORT,...",
            also=("--broker-list",),
        )
        properties = Option("The client.properties for these brokers.", "FILE")
        return (
            Parameter("bootstrap_server", Address, False, brokers, None),
            Parameter("command_config", Path, False, properties, None),
        )
    return ()


TIME_LIMIT = Parameter(
    "time_limit", float, False, Option("Seconds that the tool may take; 0 for no limit.", "SECONDS"), None
)
"""The option of every operation that prints lines on a client."""


@dataclass(frozen=True)
class Rules:
    """The declaration of an operation beside its function.

    Attributes:
        danger: the effect on a cluster.
        dangers: higher effects, by the name or the value of a parameter that is given; or a function of the arguments,
            whose result replaces `danger`.
        runs_on: the programs that run it.
        dialects: the dialects of the clusters that have it.
        examples: command lines for the help: of a verb without the program and the cluster, of a tool without its name.
        commands: the operations that the first argument chooses from; empty for most.
        connects: True if it needs the cluster of the command. A function of the arguments says so for one run, and then
            the others do without a cluster even if one is named.
        lists: the kind of names in the first column, such as `topics`, if a run without arguments lists all of them.
        waits: True if it waits `run.wait` seconds until every broker reports its change.
        ends_options: True if everything after the first argument belongs to that argument, options as well.
        nothing: the sentence on stderr in place of a table without rows; None for nothing.
        needs: the resources that it opens through its run.
        time_limit: time limit in seconds; None for no limit.
        replaces: the classes of Kafka that do the same.
        warning: the consequence of a run that destroys something, as a sentence after the question.
        without_effect: options of Kafka's tool that are accepted without effect, such as `--threads N` and `--sync`.
        refused: options of Kafka's tool that are not available, each with the reason as a part of a sentence.
        requires: returns the permissions of a run on a node, for its arguments. By default, they derive from its
            danger and the types of its parameters.
        choices: rules about parameters that need or exclude each other.
    """

    danger: Danger = Danger.READS
    _: KW_ONLY
    dangers: Mapping[str, Danger] | Callable[[Mapping[str, Any]], Danger] = field(default_factory=dict)
    runs_on: frozenset[Place] = CLIENT
    dialects: tuple[Dialect, ...] = ("kafka", "kip4")
    examples: tuple[str, ...] = ()
    commands: tuple[Operation, ...] = ()
    connects: bool | Callable[[Mapping[str, Any]], bool] = True
    lists: str | None = None
    waits: bool = False
    ends_options: bool = False
    nothing: str | None = None
    needs: AbstractSet[Need] = frozenset()
    time_limit: float | None = TIME_LIMIT_S
    replaces: tuple[str, ...] = ()
    warning: str = ""
    without_effect: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    requires: Callable[[Mapping[str, Any]], Sequence[Requirement]] | None = None
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation(Rules):
    """An operation.

    Attributes:
        function: the function that carries it out.
    """

    function: Callable[..., Awaitable[Any]]

    @property
    def name(self) -> str:
        """The name in a command line, such as `reset-offsets`."""
        return self.function.__name__.strip("_").replace("_", "-")

    @property
    def noun(self) -> str:
        """The noun of a verb in a command line, such as `topics`."""
        return self.function.__module__.partition(".verbs.")[2].partition(".")[0].replace("_", "-")

    @property
    def help(self) -> str:
        """The docstring."""
        from inspect import cleandoc

        return cleandoc(self.function.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.help.partition("\n")[0]

    @cached_property
    def result(self) -> Any:
        """The class of the rows; None if the operation prints lines instead."""
        returned = annotations_of(self.function)["return"]
        if returned is type(None):
            return None
        candidates = getattr(returned.__args__[0], "__args__", returned.__args__)
        return next(candidate for candidate in candidates if candidate is not Failure)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the order of the function.

        Raises:
            TypeError: a parameter has neither Argument nor Option.
        """
        return declared_parameters(self.function)

    @cached_property
    def common_parameters(self) -> tuple[Parameter, ...]:
        """Implicit options: those of its needs and `--time-limit`, minus options that the function declares itself."""
        if Place.CLIENT not in self.runs_on or self.result is not None:
            return ()  # a node knows its cluster, and verbs have the options of the command
        declared = {parameter.name for parameter in self.parameters}
        needed = (parameter for need in Need if need in self.needs for parameter in options_of(need))
        return tuple(parameter for parameter in (*needed, TIME_LIMIT) if parameter.name not in declared)

    @property
    def highest_danger(self) -> Danger:
        """The highest effect of any run."""
        return self.danger if callable(self.dangers) else max((self.danger, *self.dangers.values()))

    def danger_of(self, arguments: Mapping[str, Any]) -> Danger:
        """Return the effect of a run with these arguments."""
        if callable(self.dangers):
            return self.dangers(arguments)
        given = {name for name, value in arguments.items() if value not in (None, False, [])}
        chosen = given.union(map(str, arguments.values()))
        return max((self.danger, *(danger for name, danger in self.dangers.items() if name in chosen)))

    def connects_for(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether a run with these arguments works with the cluster of the command."""
        return self.connects(arguments) if callable(self.connects) else self.connects

    async def __call__(self, run: Any, **values: Any) -> list[Any]:
        """Call the function; without a result, there are no rows.

        Args:
            run: the run, whose class depends on the kind of the operation.
            values: the parameters by name.
        """
        rows: list[Any] | None = await self.function(run, **call_arguments(self.function, values))
        return rows or []


if TYPE_CHECKING:

    class operation(Rules):  # a decorator
        """Declares a function as an operation by rules."""

        def __call__(self, function: Callable[..., Awaitable[Any]]) -> Operation: ...

else:

    def operation(danger: Danger = Danger.READS, **rules: Any) -> Callable[[Callable[..., Awaitable[Any]]], Operation]:
        """Return a decorator that declares a function as an operation by rules."""
        return lambda function: Operation(function=function, danger=danger, **rules)
