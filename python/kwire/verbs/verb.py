"""Declarations of verbs: what an operation on a cluster is called, takes, changes, and returns.

A verb is an asynchronous function in a module of a noun's package: `topics/create.py` has `kafka topics create`.
Its parameters are type hints with a help text; the command line, the shell, and documentation derive from them.

    @verb(Danger.CHANGES)
    async def create(run: Run, names: Annotated[list[str], Argument("Names of the topics.")]) -> Rows[Change]:
        \"\"\"Create topics.\"\"\"

`kwire.parameters` describes Argument and Option. A Secret is never an argument of a process: `password` is read from
the file of `--password-file`, stdin, or a prompt.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar, get_args, get_type_hints

from kwire.parameters import Argument, Danger, InvalidArgument, Option, Parameter, declared_parameters
from kwire.verbs.written_files import LocalFiles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kwire.client.admin import AdminClient, AdminError, Progress
    from kwire.protocol.negotiated_versions import Dialect
    from kwire.verbs.written_files import WrittenFiles

__all__ = [
    "Argument",
    "Danger",
    "Failed",
    "Failure",
    "Option",
    "Parameter",
    "Rows",
    "Run",
    "TimedOut",
    "Unhealthy",
    "Verb",
    "verb",
]

R = TypeVar("R")


class Failure(NamedTuple):
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


class TimedOut(Failed):
    """Something that a verb has run did not finish in time."""


def _accept(text: str) -> None:
    """Do nothing with a question or a sentence."""


class Run:
    """What a verb runs with.

    Attributes:
        dry_run: report what would change, and change nothing.
        wait: seconds to wait until every broker reports a change; 0 does not wait.
        confirm: asks before something is destroyed. It raises if the answer is no.
        on_progress: called while waiting.
        warn: prints a sentence that is not part of the result.
        write: prints output of a tool as it comes; None if only rows are shown.
        note: prints a line about what is being done.
        show: shows how far it is; each text replaces the one before.
        here: whether tools may run in this process, with the files of its user.
        files: writes the files that parameters name.
        interruption: what an interrupt would leave behind, as a sentence, if the verb knows better than its client.
    """

    def __init__(
        self,
        admin: AdminClient | None,
        *,
        dry_run: bool = False,
        wait: float = 30.0,
        confirm: Callable[[str], None] = _accept,
        on_progress: Callable[[Progress], None] | None = None,
        warn: Callable[[str], None] = _accept,
        write: Callable[[str], None] | None = None,
        note: Callable[[str], None] = _accept,
        show: Callable[[str], None] = _accept,
        here: bool = True,
        files: WrittenFiles | None = None,
    ) -> None:
        self._admin = admin
        self.dry_run = dry_run
        self.wait = wait
        self.confirm = confirm
        self.on_progress = on_progress
        self.warn = warn
        self.write = write
        self.note = note
        self.show = show
        self.here = here
        self.files: WrittenFiles = files or LocalFiles()
        self.interruption: str | None = None

    @property
    def has_cluster(self) -> bool:
        """Whether the run has a cluster: one was named, and the verb connects to it."""
        return self._admin is not None

    @property
    def admin(self) -> AdminClient:
        """A client of the cluster.

        Raises:
            InvalidArgument: no cluster was named.
        """
        if self._admin is None:
            raise InvalidArgument("name the cluster: give --bootstrap HOST:PORT")
        return self._admin


class Verb(NamedTuple, Generic[R]):
    """An operation on a cluster.

    Attributes:
        function: what it does.
        danger: what it does to the cluster.
        dialects: the dialects that have it.
        examples: command lines without the program and the cluster, for the help.
        lists: the kind of names in the first column, such as `topics`, if a run without arguments lists all of them.
        connects: whether it needs a cluster. A function of the arguments says so for one run, and the others do
            without a cluster even if one is named.
        danger_of: returns what a run with certain arguments does, if that can be less than `danger`.
        waits: True if it waits `run.wait` seconds until every broker reports its change.
        ends_options: whether everything after the first argument belongs to that argument, options as well.
        nothing: the sentence that a terminal shows if there are no rows; None for nothing.
    """

    function: Callable[..., Awaitable[Rows[R]]]
    danger: Danger = Danger.READS
    dialects: tuple[Dialect, ...] = ("kafka", "kip4")
    examples: tuple[str, ...] = ()
    lists: str | None = None
    connects: bool | Callable[[Mapping[str, Any]], bool] = True
    ends_options: bool = False
    nothing: str | None = None
    danger_of: Callable[[Mapping[str, Any]], Danger] | None = None
    waits: bool = False

    def connects_for(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether a run with these arguments works with the cluster."""
        return self.connects(arguments) if callable(self.connects) else self.connects

    def danger_for(self, arguments: Mapping[str, Any]) -> Danger:
        """Return what a run with these arguments does."""
        return self.danger if self.danger_of is None else self.danger_of(arguments)

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
        return declared_parameters(self.function)

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
    connects: bool | Callable[[Mapping[str, Any]], bool] = True,
    ends_options: bool = False,
    nothing: str | None = None,
    danger_of: Callable[[Mapping[str, Any]], Danger] | None = None,
    waits: bool = False,
) -> Callable[[Callable[..., Awaitable[Rows[R]]]], Verb[R]]:
    """Declare a function as a verb. See the attributes of Verb."""

    def declare(function: Callable[..., Awaitable[Rows[R]]]) -> Verb[R]:
        return Verb(function, danger, dialects, examples, lists, connects, ends_options, nothing, danger_of, waits)

    return declare
