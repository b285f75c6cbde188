"""Runs of verbs.

A run carries all that a verb may use beside its arguments, so verbs read no environment, files, or terminal by
themselves, and work the same in a command, in the shell, and over HTTP.

| class | what it is | made by |
|---|---|---|
| `Run` | what a verb may use: a client, questions, output | `VerbRun`, workers of HTTP |
| `VerbRun` (`cli.verb_run`) | a verb in a command, from its options to its exit code | `run_command` |
| `VerbSession` (`cli.verb_session`) | what verbs of a process share: cluster, loop, errors | a command, or the shell |
| `ToolRun` (`kwire_zookeeper_tools`) | what a tool may use: connections of its own, printed lines | `run_tool` |
| `NodeRun` (`kwire_zookeeper_tools`) | a `ToolRun` in the loop of a node, on the node's state | the node |

The first three serve verbs, and the others tools: a verb gets a client that its caller closes, a tool opens and closes
its own.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from io import StringIO

from kwire._util.light_dataclasses import KW_ONLY, dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Any, TextIO
from kwire.client.admin.errors import NotSupported
from kwire_admin.operations.parameters import InvalidArgument, check_arguments
from kwire_admin.operations.suggestions import with_suggestions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kwire.client.admin import AdminClient, Progress
    from kwire.protocol.negotiated_versions import Dialect
    from kwire_admin.operations.declaration import Operation


class WrittenFiles:
    """Files that a verb writes: those of the user of this process."""

    def write(self, path: Path, text: str) -> None:
        """Write a file as a whole, or not at all.

        Raises:
            InvalidArgument: the file cannot be written.
        """
        from kwire._util.atomic_file import replace_file

        try:
            replace_file(path, text)
        except OSError as error:
            raise InvalidArgument(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from None

    def check_new(self, path: Path) -> None:
        """Check that a file does not exist.

        Raises:
            InvalidArgument: it exists.
        """
        if path.exists():
            raise InvalidArgument(f"{path} exists already")

    @contextmanager
    def create(self, path: Path) -> Iterator[TextIO]:
        """Create a file for a secret before the secret exists. If the block raises, the file is removed.

        Raises:
            InvalidArgument: the file exists, or cannot be written.
        """
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InvalidArgument(f"cannot write the secret to {path}: {error.strerror}") from None
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            try:
                yield stream
            except BaseException:
                path.unlink()
                raise


class ReturnedFiles(WrittenFiles):
    """Files as parts of a response.

    Attributes:
        texts: the texts by path.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def write(self, path: Path, text: str) -> None:
        self.texts[str(path)] = text

    def check_new(self, path: Path) -> None:
        """Accept every path: no file is written."""

    @contextmanager
    def create(self, path: Path) -> Iterator[TextIO]:
        stream = StringIO()
        yield stream
        self.write(path, stream.getvalue())


def _ignore(shown: object) -> None:
    """Ignore a question, a sentence, or rows."""


@dataclass(eq=False)
class Run:
    """One run of a verb.

    It has no states: a verb reads, and unless `dry_run` is true, asks with `show_plan` and `confirm`, and changes. In
    a dry run, it sends nothing that changes the cluster, and asks nothing. `interruption` is set by a verb that leaves
    work in progress, from then on.

    Attributes:
        client: the client of the cluster; None if no cluster was named. Verbs take it from `admin`.
        dry_run: True to report what would change, and to change nothing.
        wait: seconds to wait until every broker reports a change; 0 does not wait.
        confirm: asks before something is destroyed. It raises if the answer is no.
        show_plan: shows the rows of a change, if a question about it follows.
        on_progress: called while waiting.
        warn: prints a sentence that is not part of the result.
        write: prints output of a tool as it comes; None if only rows are shown.
        note: prints a line about the current step.
        show: shows the progress; each text replaces the one before.
        here: True if tools may run in this process, with the files of its user.
        files: writes the files that parameters name.
        interruption: the state that an interrupt would leave behind, as a sentence; None if the client of the cluster
            knows it from its requests.
    """

    client: AdminClient | None
    _: KW_ONLY
    dry_run: bool = False
    wait: float = 30.0
    confirm: Callable[[str], None] = _ignore
    show_plan: Callable[[Sequence[Any]], None] = _ignore
    on_progress: Callable[[Progress], None] | None = None
    warn: Callable[[str], None] = _ignore
    write: Callable[[str], None] | None = None
    note: Callable[[str], None] = _ignore
    show: Callable[[str], None] = _ignore
    here: bool = True
    files: WrittenFiles = field(default_factory=WrittenFiles)
    interruption: str | None = field(default=None, init=False)

    @property
    def has_cluster(self) -> bool:
        """True if a cluster was named, and the verb connects to it."""
        return self.client is not None

    @property
    def admin(self) -> AdminClient:
        """A client of the cluster.

        Raises:
            InvalidArgument: no cluster was named.
        """
        if self.client is None:
            raise InvalidArgument("name the cluster: give --bootstrap HOST:PORT")
        return self.client


CLUSTERS: dict[Dialect, str] = {"kafka": "a cluster of Apache Kafka", "kip4": "a cluster of nodes of the KIP-4 drafts"}
"""Kinds of clusters by dialect."""


async def run_verb(verb: Operation, run: Run, values: Mapping[str, Any]) -> list[Any]:
    """Run a verb, and return its rows and failures.

    The first errors because of unknown names have the most similar names that exist.

    Args:
        values: the values of its parameters by name.

    Raises:
        NotSupported: clusters of this kind do not have the verb.
        InvalidArgument: see `check_arguments`.
        KwireError, InvalidArgument, Unhealthy: see the verb.
    """
    check_arguments(verb.parameters, verb.choices, values)
    if not run.has_cluster:
        return await verb(run, **values)
    dialect = run.admin.dialect
    if dialect not in verb.dialects:
        kind = CLUSTERS[verb.dialects[0]]
        raise NotSupported(f"kafka {verb.noun} {verb.name}", f"it works on {kind}, and this is {CLUSTERS[dialect]}")
    return await with_suggestions(run.admin, verb(run, **values))
