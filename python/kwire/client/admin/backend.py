"""The operations that Kafka and the drafts of KIP-4 both have, and how their arguments are checked.

`AdminClient` documents the operations; a backend translates them into the requests of one dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.topic_changes import NewTopic, TopicChange
    from kwire.client.admin.values import (
        Outcomes,
        ReassignmentStatus,
        ToolResult,
        TopicDescription,
    )
    from kwire.protocol.endpoint import Endpoint

    Targets: TypeAlias = Mapping[str, Mapping[int, Sequence[int]]]
    Topics: TypeAlias = dict[str, TopicDescription | AdminError]


class Backend(Protocol):
    """The operations of one dialect. See the methods of `AdminClient` for arguments, results, and errors."""

    async def create_topics(self, topics: Mapping[str, NewTopic], *, validate_only: bool) -> Outcomes: ...

    async def alter_topics(self, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes: ...

    async def delete_topics(self, names: tuple[str, ...]) -> Outcomes: ...

    async def reassign_partitions(self, targets: Targets) -> Outcomes: ...

    async def cancel_reassignments(self, partitions: Mapping[str, Sequence[int]]) -> Outcomes: ...

    async def list_reassignments(self, targets: Targets | None) -> list[ReassignmentStatus]: ...

    async def elect_leaders(self, partitions: Mapping[str, Sequence[int]] | None, *, unclean: bool) -> Outcomes: ...

    async def list_topics(self) -> list[str]: ...

    async def list_topics_marked_for_deletion(self) -> list[str]: ...

    async def describe_topics(self, names: tuple[str, ...], *, configs: bool) -> Topics: ...

    async def topics_at(self, broker: Endpoint, names: tuple[str, ...], *, configs: bool) -> Topics:
        """Return topics as one broker reports them. Raises ConnectionFault."""
        ...

    async def run_tool(
        self,
        name: str,
        arguments: tuple[str, ...],
        broker_id: int | None,
        *,
        reads: bool = False,
        repeatable: bool = False,
    ) -> ToolResult:
        """Run a tool. If it changes nothing (`reads`) or is `repeatable`, it is repeated after a lost response."""
        ...


def strings_tuple(strings: Iterable[str]) -> tuple[str, ...]:
    """Return strings as a tuple. A single string is a TypeError: iterating it would name other topics."""
    if isinstance(strings, str):
        raise TypeError(f"expected several strings, not one: write [{strings!r}]")
    return tuple(strings)
