"""What batched messages have in common: a code for each topic, or the same one for all when the whole was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.backend import Outcome
from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import ReplicationResult, TopicResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

__all__ = ["code", "each_or_all", "replication_results", "topic_results"]


async def each_or_all(work: Awaitable[list[Outcome]], names: Iterable[str]) -> list[Outcome]:
    """The outcomes of the work; if it was refused as a whole, that for each distinct topic."""
    try:
        return await work
    except AdminError as error:
        return [Outcome(name, error) for name in dict.fromkeys(names)]


def code(error: AdminError | None) -> int:
    """0 for none."""
    return ErrorCode.NO_ERROR if error is None else error.code


def topic_results(outcomes: Iterable[Outcome]) -> tuple[TopicResult, ...]:
    """As topic commands answer."""
    return tuple(TopicResult(topic_name=one.topic, error_code=code(one.error)) for one in outcomes)


def replication_results(outcomes: Iterable[Outcome]) -> tuple[ReplicationResult, ...]:
    """As replication commands answer."""
    return tuple(ReplicationResult(topic=one.topic, error_code=code(one.error)) for one in outcomes)
