"""The state of a shell: its cluster, one connection for all statements, and the topic and group in use."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import asynccontextmanager

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, Self, TypeVar
from kwire_admin.cli.shell.error_position import StatementErrors
from kwire_admin.cli.shell.live_names import LiveNames
from kwire_admin.cli.verb_session import VerbSession, current_session, open_admin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
    from types import TracebackType

    from kwire.client.admin import AdminClient
    from kwire.terminal.cluster import ClusterChoice

__all__ = ["Leave", "ShellSession", "shell_session"]

CHOOSING = ("bootstrap", "cluster", "command_config", "overrides")
"""The options that choose a cluster."""

T = TypeVar("T")


class Leave(Exception):
    """A statement ends the shell."""


class ShellSession(VerbSession):
    """Runs the statements of a shell.

    Args:
        chosen: the options of the shell that choose its cluster.

    Attributes:
        choice: the cluster.
        topic: the topic in use; None if no topic is in use.
        group: the group in use; None if no group is in use.
        names: names of the cluster for completion.
        errors: prints errors of the current statement.
        terminal: the stream that statements draw on; output that scrolls may pass a pager instead.
        interactive: true if a person types the statements.

    Raises:
        click.UsageError: the options do not choose a cluster.
    """

    def __init__(self, chosen: dict[str, Any], *, interactive: bool) -> None:
        self.topic: str | None = None
        self.group: str | None = None
        self.errors = StatementErrors()
        self.terminal = sys.stdout
        self.interactive = interactive
        self._runner = asyncio.Runner()
        self._admin: AdminClient | None = None
        self._chosen = chosen
        self.choice = super().cluster(chosen)
        self.names = LiveNames(self.choice, chosen)

    def __enter__(self) -> Self:
        gc.enable()  # a command disables it until its modules are imported
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.names.close()
        self._disconnect()
        self._runner.close()

    def use_cluster(self, name: str) -> None:
        """Continue with a cluster of the configuration file.

        Raises:
            click.UsageError: the file does not have the cluster, or it is invalid.
        """
        chosen = {**self._chosen, "bootstrap": None, "cluster": name, "command_config": None, "overrides": ()}
        choice = super().cluster(chosen)
        self._disconnect()
        self._chosen, self.choice = chosen, choice
        self.topic = self.group = None
        names, self.names = self.names, LiveNames(choice, chosen)
        names.close()
        self.names.on_change = names.on_change
        if self.interactive:
            self.names.start()

    def options(self, chosen: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a statement that names another cluster, or else those of the shell."""
        if any(chosen[name] not in (None, ()) for name in CHOOSING):
            return super().options(chosen)
        return {**self._chosen, "timeout": chosen["timeout"] or self._chosen["timeout"]}

    def cluster(self, chosen: dict[str, Any], *, is_required: bool = True) -> ClusterChoice:
        """Return the cluster of a statement."""
        if chosen == self._chosen:
            return self.choice
        if all(chosen[name] == self._chosen[name] for name in CHOOSING):  # another timeout
            return self.choice._replace(timeout=chosen["timeout"])
        return super().cluster(chosen, is_required=is_required)

    def run(self, main: Coroutine[Any, Any, T], *, needs_asyncio: bool = True) -> T:
        """Run a coroutine until it is complete, in the event loop of the shell.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed. The connection is closed, because a response may be outstanding.
        """
        del needs_asyncio
        try:
            return self._runner.run(main)
        except KeyboardInterrupt:
            self._disconnect()
            raise

    def have_topics(self, names: Sequence[str]) -> bool:
        """Return whether the cluster has topics, and report missing ones with the nearest names.

        Raises:
            KwireError: the cluster cannot be reached.
        """

        async def find(admin: AdminClient) -> Mapping[str, object]:
            return await admin.describe_topics(names)

        return self._none_missing(find)

    def have_group(self, name: str) -> bool:
        """Return whether brokers or ZooKeeper may have a group, and report one that the brokers do not have.

        Clusters without groups, such as those of kwire's nodes, have offsets of groups in ZooKeeper only.

        Raises:
            KwireError: the cluster cannot be reached.
        """
        from kwire.protocol.errors import NoCommonVersion

        async def find(admin: AdminClient) -> Mapping[str, object]:
            if admin.dialect == "kip4":
                return {}
            try:
                return await admin.describe_groups([name])
            except NoCommonVersion:
                return {}

        return self._none_missing(find)

    def _none_missing(self, find: Callable[[AdminClient], Awaitable[Mapping[str, object]]]) -> bool:
        """Report names that have an error with the nearest ones, and return whether there are none."""
        from kwire.client.admin import AdminError
        from kwire_admin.operations.declaration import Failure
        from kwire_admin.operations.suggestions import with_suggestions

        async def failures(admin: AdminClient) -> list[Failure]:
            return [
                Failure(name, error) for name, error in (await find(admin)).items() if isinstance(error, AdminError)
            ]

        async def suggest() -> list[Any]:
            async with self.admin(self.choice) as admin:
                return await with_suggestions(admin, failures(admin))

        missing = self.run(suggest())
        for failure in missing:
            self.report(str(failure.error), failure.name)
        return not missing

    @asynccontextmanager
    async def admin(self, cluster: ClusterChoice) -> AsyncIterator[AdminClient]:
        """Return the client of the shell, or a new one for another cluster."""
        if cluster is not self.choice:
            async with super().admin(cluster) as admin:
                yield admin
            return
        if self._admin is None:
            self._admin = await open_admin(cluster)
        else:
            await asyncio.sleep(0)  # notice connections that were closed while no statement ran
        yield self._admin

    def report(self, sentence: str, item: str | None = None) -> None:
        """Print an error below the word of the statement that it concerns."""
        self.errors.report(sentence, item)

    def _disconnect(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            self._runner.run(admin.close())


def shell_session() -> ShellSession:
    """Return the session of the statement that is running."""
    session = current_session(click.get_current_context())
    assert isinstance(session, ShellSession)
    return session
