"""Similar names in the error of an unknown topic, group, or config."""

from __future__ import annotations

from contextlib import suppress

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.similar_names import similar
from kwire.client.admin.errors import AdminError
from kwire.errors import KwireError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from kwire.client.admin import AdminClient

KINDS: dict[int, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "topics",
    ErrorCode.GROUP_ID_NOT_FOUND: "groups",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "transactions",
}
"""The kind of the name that an error rejects, by its code. The drafts of KIP-4 have the same code for topics."""

SUGGESTIONS = 20
"""Maximum number of errors of a run with suggestions: comparing a name with thousands of others takes milliseconds."""


async def with_suggestions(admin: AdminClient, rows: Awaitable[Sequence[Any]]) -> list[Any]:
    """Return the rows of a verb. The first errors because of unknown names have the most similar names that exist.

    Raises:
        KwireError: the verb failed.
    """
    names = ExistingNames(admin)
    try:
        similar_rows = list(await rows)
    except AdminError as error:
        raise await names.suggest(error, error.item) from None
    failed = [at for at, row in enumerate(similar_rows) if isinstance(row, Failure)]
    for number, at in enumerate(failed):
        name, refusal = similar_rows[at].name, similar_rows[at].error
        similar_rows[at] = Failure(name, await names.suggest(refusal, name, compare=number < SUGGESTIONS))
    return similar_rows


class ExistingNames:
    """The names of a cluster, which are listed at most once for each kind."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin
        self._names: dict[str, tuple[str, ...]] = {}
        self._marked: tuple[str, ...] | None = None

    async def suggest(self, error: AdminError, item: str, *, compare: bool = True) -> AdminError:
        """Return an error; one because of an unknown name with the names that are most similar to it.

        If the names cannot be listed, the error is returned as it is: it must not be lost, nor the results beside it.

        Args:
            error: the error.
            item: the item that the error concerns, such as `topic orders`.
            compare: False to leave out the similar names.
        """
        from kwire_admin.operations.names import CONFIGS

        kind, name = KINDS.get(error.code), item.removeprefix("topic ").removeprefix("topic/")
        if error.code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST) and "nknown" in error.text:
            kind, name = CONFIGS.get(item.partition(" ")[0], "topic-configs"), error.text.split()[-1].rstrip(".")
        names = () if kind is None else await self._list(kind)
        if name.rpartition("-")[0] in names:  # a topic that does not have the partition
            return error
        if kind == "topics" and name in names and await self._is_marked(name):
            return replace_text(error, f"topic {name} is marked for deletion, and cannot be changed")
        suggested = [one for one in similar(name, names) if one != name] if compare else []
        text = error.text.rstrip(".")
        if names and name not in names and _says_that_topic_is_unknown(error):
            text = f"there is no topic {name}"  # the words of the broker are about partitions that it does not host
        elif not suggested:
            return error
        if suggested:
            text += f"; did you mean {' or '.join(suggested)}?"
        return replace_text(error, text)

    async def _is_marked(self, topic: str) -> bool:
        """Return whether a topic is marked for deletion: it is listed, and does not exist for a change."""
        if self._admin.dialect == "kip4" and self._marked is None:
            self._marked = ()
            with suppress(KwireError):
                self._marked = tuple(await self._admin.list_topics_marked_for_deletion())
        return topic in (self._marked or ())

    async def _list(self, kind: str) -> tuple[str, ...]:
        from kwire_admin.operations.names import NAMES

        if kind not in self._names:
            self._names[kind] = ()
            with suppress(KwireError):
                self._names[kind] = tuple(await NAMES[kind](self._admin))
        return self._names[kind]


def replace_text(error: AdminError, text: str) -> AdminError:
    """Return an error with another text."""
    return AdminError(error.code, error.name, error.item, text, error.attempts, error.needs)


def _says_that_topic_is_unknown(error: AdminError) -> bool:
    """Return whether an error has the description of its code, because the broker gave no text."""
    from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode

    return error.text in {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message,
        Kip4ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message,
    }
