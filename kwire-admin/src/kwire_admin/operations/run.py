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

from kwire._util.light_dataclasses import KW_ONLY, dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.written_files import LocalFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.client.admin import AdminClient, Progress
    from kwire_admin.operations.written_files import WrittenFiles

__all__ = ["Run"]


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
    files: WrittenFiles = field(default_factory=LocalFiles)
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
