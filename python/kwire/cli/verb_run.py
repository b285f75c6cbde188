"""Runs a verb on a cluster: checks and questions before a change, and the report after an interrupt."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kwire.cli.cluster_choice import config_path
from kwire.cli.question import ask, confirm
from kwire.client.admin.errors import NotSupported
from kwire.parameters import InvalidArgument
from kwire.readable import printable
from kwire.verbs.suggestions import with_suggestions
from kwire.verbs.verb import Danger, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.cli.cluster_choice import ClusterChoice
    from kwire.cli.verb_session import VerbSession
    from kwire.client.admin import AdminClient, Progress
    from kwire.client.admin.cluster_router import SentCommand
    from kwire.protocol.negotiated_versions import Dialect
    from kwire.verbs.verb import Verb

__all__ = ["NotConfirmed", "VerbRun"]


KINDS: dict[Dialect, str] = {"kafka": "a cluster of Apache Kafka", "kip4": "a cluster of nodes of the KIP-4 drafts"}
"""What a cluster is, by its dialect."""
CLEAR_LINE = "\r\x1b[K"
"""Deletes the present line of a terminal."""


class NotConfirmed(Exception):
    """The answer to a question is no."""


class VerbRun:
    """One run of a verb.

    Args:
        verb: the verb.
        session: what it runs with.
        cluster: the cluster, and what is allowed there.
        arguments: the parameters of the verb by name.
        options: `dry_run`, `wait`, and `yes`, those that the verb has.
        write: prints output as it comes; None if only the rows are printed.
    """

    def __init__(
        self,
        verb: Verb[Any],
        session: VerbSession,
        cluster: ClusterChoice,
        arguments: Mapping[str, Any],
        options: Mapping[str, Any],
        write: Callable[[str], None] | None = None,
    ) -> None:
        self._verb = verb
        self._session = session
        self._cluster = cluster
        self._arguments = arguments
        self._options = options
        self._write = write
        self._admin: AdminClient | None = None
        self._current: Run | None = None
        self._earlier: tuple[SentCommand, ...] = ()
        """The commands of earlier statements."""

    @property
    def changes_something(self) -> bool:
        """True if this run changes something: it is not a dry run, and its arguments change something."""
        return self._verb.danger_for(self._arguments) > Danger.READS and not self._options["dry_run"]

    def rows(self) -> Sequence[Any]:
        """Run the verb, and return its rows and failures.

        Raises:
            KwireError, InvalidArgument, Unhealthy: see the verb.
            click.BadParameter: the address of a broker is invalid.
        """
        return self._session.run(self._run())

    def interrupted(self) -> str:
        """Return a sentence that says what an interrupted run has done."""
        if self._current is not None and self._current.interruption is not None:
            return self._current.interruption
        commands = [] if self._admin is None else [each for each in self._admin.commands if each not in self._earlier]
        if not self.changes_something or not commands:
            return "Interrupted: nothing was changed."
        unanswered = [each.request for each in commands if not each.answered]
        if unanswered:
            return (
                f"Interrupted: the outcome of {unanswered[-1]} is unknown. Check the cluster before you repeat the "
                "command."
            )
        return f"Interrupted: the cluster has answered {commands[-1].request}, and may still be applying the change."

    async def _run(self) -> Sequence[Any]:
        cluster = self._cluster
        if self.changes_something:
            _check_writable(cluster)
        if not cluster.bootstrap or not self._verb.connects_for(self._arguments):
            if self.changes_something:
                _check_unguarded(cluster)
            return await self._verb(self._new_run(), **self._arguments)
        try:
            async with self._session.admin(cluster) as admin:
                self._admin = admin
                self._earlier = tuple(admin.commands)
                self._check_dialect(admin.dialect)
                if self.changes_something:
                    await _check_identity(admin, cluster)
                return await with_suggestions(admin, self._verb(self._new_run(), **self._arguments))
        except ValueError as error:
            if isinstance(error, InvalidArgument) or self._admin is not None:
                raise
            raise click.BadParameter(str(error), param_hint="--bootstrap") from None  # an invalid address

    def _new_run(self) -> Run:
        options = self._options
        self._current = Run(
            self._admin,
            dry_run=options.get("dry_run", False),
            wait=options.get("wait", 0.0),
            confirm=partial(_confirm, self._cluster, yes=options.get("yes", False)),
            on_progress=_show_progress if sys.stderr.isatty() else None,
            warn=lambda sentence: print(f"Warning: {printable(sentence)}", file=sys.stderr),
            write=self._write,
            note=_note,
            show=_show if sys.stderr.isatty() else _say_nothing,
        )
        return self._current

    def _check_dialect(self, dialect: Dialect) -> None:
        """Check that clusters of this kind have the verb.

        Raises:
            NotSupported: they do not have it.
        """
        verb = self._verb
        if dialect not in verb.dialects:
            raise NotSupported(
                f"kafka {verb.noun} {verb.name}",
                f"it works on {KINDS[verb.dialects[0]]}, and {self._cluster.bootstrap} belongs to {KINDS[dialect]}",
            )


def _check_writable(cluster: ClusterChoice) -> None:
    """Check that the configuration file allows changes, before anything is connected to.

    Options of a tool can name the brokers or the ZooKeeper of the same cluster, so the check does not depend on them.

    Raises:
        InvalidArgument: the cluster is read-only.
    """
    if cluster.read_only:
        raise InvalidArgument(f"cluster {cluster.name} is read-only in {config_path()}")


def _check_unguarded(cluster: ClusterChoice) -> None:
    """Check that a run with connections of its own does not go around the expected id of the chosen cluster.

    Raises:
        InvalidArgument: the configuration file expects an id, which cannot be checked.
    """
    if cluster.cluster_id is not None:
        raise InvalidArgument(
            f"{config_path()} expects {cluster.cluster_id} for {cluster.name}, which cannot be checked for a tool with "
            "connection options of its own: leave them out, or choose no cluster of the file"
        )


async def _check_identity(admin: AdminClient, cluster: ClusterChoice) -> None:
    """Check that a cluster is the one that the configuration file expects.

    Raises:
        InvalidArgument: it is another one.
    """
    if cluster.cluster_id is not None:
        found = (await admin.describe_cluster()).cluster_id
        if found != cluster.cluster_id:
            raise InvalidArgument(
                f"{cluster.bootstrap} belongs to the cluster {found}, but {config_path()} expects {cluster.cluster_id} "
                f"for {cluster.name}"
            )


def _confirm(cluster: ClusterChoice, question: str, *, yes: bool) -> None:
    """Ask on the terminal. Without a terminal, the answer is no.

    Args:
        yes: the answer was given in advance. It does not take the place of typing the name of the cluster.
    """
    question = printable(question)
    on_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if yes and not cluster.type_name:
        return
    if not on_terminal:
        needed = (
            f"{config_path()} requires the name {cluster.name} to be typed"
            if cluster.type_name
            else "Confirm with --yes"
        )
        raise InvalidArgument(f"{question} {needed}")
    if cluster.type_name:
        confirmed = ask(f"{question} Type {cluster.name} to confirm: ") == cluster.name
    else:
        confirmed = confirm(question)
    if not confirmed:
        raise NotConfirmed


def _note(line: str) -> None:
    """Print a line, in the place of what `_show` has shown."""
    clear = CLEAR_LINE if sys.stderr.isatty() else ""
    print(f"{clear}{printable(line)}", file=sys.stderr, flush=True)


def _show(text: str) -> None:
    print(f"{CLEAR_LINE}{printable(text)}", end="", file=sys.stderr, flush=True)


def _say_nothing(text: str) -> None:
    """Show nothing, because stderr is not a terminal."""


def _show_progress(progress: Progress) -> None:
    end = "\n" if progress.done == progress.total else ""
    print(f"\rWaiting for brokers: {progress.done} of {progress.total}", end=end, file=sys.stderr, flush=True)
