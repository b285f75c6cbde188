"""Similar names in the error of an unknown topic, group, or config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.client.admin.errors import AdminError
from kwire.errors import KwireError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.verbs import similar
from kwire.verbs.verb import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from kwire.client.admin import AdminClient

__all__ = ["with_suggestion", "with_suggestions"]

KINDS: dict[int, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "topics",
    ErrorCode.GROUP_ID_NOT_FOUND: "groups",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "transactions",
}
"""The kind of the name that an error rejects, by its code. The drafts of KIP-4 have the same code for topics."""


async def with_suggestions(admin: AdminClient, rows: Awaitable[Sequence[Any]]) -> list[Any]:
    """Return the rows of a verb; errors because of unknown names have the names that are most similar to these.

    Raises:
        KwireError: the verb failed.
    """
    try:
        found = await rows
    except AdminError as error:
        raise await _suggest(admin, error, error.item) from None
    return [await with_suggestion(admin, row) if isinstance(row, Failure) else row for row in found]


async def with_suggestion(admin: AdminClient, failure: Failure) -> Failure:
    """Return a failure; one because of an unknown name has the names that are most similar to it."""
    return Failure(failure.name, await _suggest(admin, failure.error, failure.name))


async def _suggest(admin: AdminClient, error: AdminError, item: str) -> AdminError:
    """Return an error; one because of an unknown name with the names that are most similar to it.

    If the names cannot be listed, the error is returned as it is: it must not be lost, nor the results beside it.

    Args:
        item: what the error concerns, such as `topic orders`.
    """
    from kwire.verbs.names import CONFIGS, NAMES

    kind, name = KINDS.get(error.code), item.removeprefix("topic ").removeprefix("topic/")
    if error.code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST) and "nknown" in error.text:
        kind, name = CONFIGS.get(item.partition(" ")[0], "topic-configs"), error.text.split()[-1].rstrip(".")
    if kind is None:
        return error
    try:
        names = tuple(await NAMES[kind](admin))
    except KwireError:
        return error
    suggested = similar(name, names)
    if not suggested or name.rpartition("-")[0] in names:  # a topic that does not have the partition
        return error
    text = f"{error.text.rstrip('.')}; did you mean {' or '.join(suggested)}?"
    return AdminError(error.code, error.name, error.item, text, error.attempts)
