"""Parts that the handlers of topic commands share: permissions of batches, and conversions.

Batched messages (version 2, and all replication commands) carry an error code per topic. Messages about one topic
(versions 0 and 1) carry only the codes 0, 21, and 22: any other error becomes 21, and the description has the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, ReplicationResult, TopicResult
from kwire_cluster.controller.backend import Outcome
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.topic_names import MAX_NAME_LENGTH
from kwire_cluster.node.logs import logger
from kwire_cluster.request_quotas import in_slices

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence


T = TypeVar("T")


async def outcomes_of_allowed(
    command: Callable[[Sequence[T]], Awaitable[list[Outcome]]],
    items: Sequence[T],
    name_of: Callable[[T], str],
    denial_of: Callable[[T], CommandError | None],
) -> list[Outcome]:
    """Run a command with the items that the client is allowed to send.

    Args:
        command: returns an outcome for each distinct topic, or raises CommandError.
        items: the items of the request.
        name_of: the topic of an item.
        denial_of: the reason why an item is denied; None if it is allowed. A topic with a denied item is denied.

    Returns:
        An outcome for each distinct topic, in the order in which the request first names the topics.
    """
    denied: dict[str, CommandError] = {}
    async for item in in_slices(items):
        error = denial_of(item)
        if error is not None:
            denied.setdefault(name_of(item), error)
    if not denied:
        return await result_of_each(command(items), map(name_of, items))
    names = dict.fromkeys(map(name_of, items))
    allowed = [item for item in items if name_of(item) not in denied]
    outcomes = await result_of_each(command(allowed), map(name_of, allowed)) if allowed else []
    by_topic = {outcome.topic: outcome for outcome in outcomes}
    return [by_topic[name] if name in by_topic else Outcome(name, denied[name]) for name in names]


log = logger("kwire.node.requests")

LOGGED_REFUSALS = 5
"""Topics of one request for which a reason is logged."""

# Batched messages


async def result_of_each(command: Awaitable[list[Outcome]], topics: Iterable[str]) -> list[Outcome]:
    """Run a command; if it fails as a whole, return its error for each distinct topic."""
    try:
        return await command
    except CommandError as error:
        return [Outcome(topic, error) for topic in dict.fromkeys(topics)]


def error_code(error: CommandError | None) -> int:
    """Return the code of an error, NO_ERROR for None."""
    return ErrorCode.NO_ERROR if error is None else error.code


def topic_results(outcomes: Iterable[Outcome]) -> tuple[TopicResult, ...]:
    """Convert outcomes to the results of topic commands."""
    outcomes = tuple(outcomes)
    _log_refusals(outcomes)
    return tuple(TopicResult(topic_name=one.topic, error_code=error_code(one.error)) for one in outcomes)


def replication_results(outcomes: Iterable[Outcome]) -> tuple[ReplicationResult, ...]:
    """Convert outcomes to the results of replication commands."""
    outcomes = tuple(outcomes)
    _log_refusals(outcomes)
    return tuple(ReplicationResult(topic=one.topic, error_code=error_code(one.error)) for one in outcomes)


def _log_refusals(outcomes: Sequence[Outcome]) -> None:
    """Log the reasons of errors, which batched messages cannot carry, for the first topics of a request."""
    refused = [one for one in outcomes if one.error is not None]
    for one in refused[:LOGGED_REFUSALS]:
        log.info("topic refused", topic=one.topic[:MAX_NAME_LENGTH], code=error_code(one.error), reason=str(one.error))
    if len(refused) > LOGGED_REFUSALS:
        log.info("further topics refused", count=len(refused) - LOGGED_REFUSALS)


# Messages about one topic


def code_and_description(error: CommandError | None) -> tuple[int, str | None]:
    """Return ErrorCode and ErrorDescription."""
    if error is None:
        return ErrorCode.NO_ERROR, None
    if error.code == ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST:
        return error.code, error.reason
    return ErrorCode.ADMIN_REQUEST_FAILED, error.reason


def parse_configs(texts: Iterable[str]) -> tuple[ConfigEntry, ...]:
    """Parse configs of the form `key=value`.

    Raises:
        CommandError: INVALID_ARGUMENT_TOPIC_CONFIG for a text without an equals sign.
    """
    entries = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            reason = f"invalid config {text[:100]!r}: expected key=value"
            raise CommandError(ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG, reason)
        entries.append(ConfigEntry(config_key=key.strip(), config_value=value.strip()))
    return tuple(entries)


def partition_replicas(assignment: Mapping[int, Sequence[int]]) -> tuple[PartitionReplicas, ...]:
    """Convert an assignment to the structs of version 2."""
    return tuple(PartitionReplicas(partition_id=index, replica_ids=tuple(ids)) for index, ids in assignment.items())
