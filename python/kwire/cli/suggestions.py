"""Similar names in the error of an unknown topic, group, or config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.client.admin.errors import AdminError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.verbs import similar
from kwire.verbs.verb import Failure

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient

__all__ = ["with_suggestion"]

KINDS: dict[int, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "topics",
    ErrorCode.GROUP_ID_NOT_FOUND: "groups",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "transactions",
}
"""The kind of the name that an error rejects, by its code. The drafts of KIP-4 have the same code for topics."""


async def with_suggestion(admin: AdminClient, row: Any) -> Any:
    """Return a row; a failure because of an unknown name with the names that are most similar to it.

    Raises:
        KwireError: the names cannot be listed.
    """
    if not isinstance(row, Failure):
        return row
    from kwire.verbs.names import CONFIGS, NAMES

    error = row.error
    kind, name = KINDS.get(error.code), row.name.removeprefix("topic ").removeprefix("topic/")
    if error.code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST) and "nknown" in error.text:
        kind, name = CONFIGS.get(row.name.partition(" ")[0], "topic-configs"), error.text.split()[-1].rstrip(".")
    if kind is None:
        return row
    suggested = similar(name, tuple(await NAMES[kind](admin)))
    if not suggested:
        return row
    text = f"{error.text.rstrip('.')}; did you mean {' or '.join(suggested)}?"
    return Failure(row.name, AdminError(error.code, error.name, error.item, text, error.attempts))
