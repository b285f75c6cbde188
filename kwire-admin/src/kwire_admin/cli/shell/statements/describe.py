"""`describe;`: the topics of the cluster, or the topic in use."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire_admin.cli.shell.session import shell_session
from kwire_admin.cli.verb_command import verb_command
from kwire_admin.operations.verbs.topics import describe as topics_describe

if TYPE_CHECKING:
    from collections.abc import Callable

    import click


def _topics_describe(prepare: Callable[[dict[str, Any]], None]) -> click.Command:
    """Return the command of the verb with a function that changes its values first."""
    command = verb_command(topics_describe)
    run = command.callback
    assert run is not None

    def callback(**values: Any) -> Any:
        prepare(values)
        return run(**values)

    command.callback = callback
    return command


@_topics_describe
def describe(values: dict[str, Any]) -> None:
    """Describe the topic in use, or all topics: topics describe."""
    topic = shell_session().topic
    if not values["names"] and topic is not None:
        values["names"] = (topic,)
