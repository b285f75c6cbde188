"""What one broker told last, and what its next answer says that is new.

Rules of this file: no I/O and no clock but the times handed in. An answer in which all topics, or all brokers, are gone
is *suspect*: brokers of Kafka 3.9 answer so for half a second after a start. It counts once the same broker says it
again after a while, or another broker says it too; until then the differences are told against what was so before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.decoder import Changes, Decoder, compare
from kwire.errors import DecodeError
from kwire.metadata.diff import metadata_events, same

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire.declare import Message
    from kwire.metadata.events import MetadataEvent
    from kwire.protocol import ReceivedResponse

__all__ = ["ResponseTracker", "TrackedResponse"]

CONFIRMED_AFTER = 1.0
"""Seconds after which a second empty answer of one broker is believed; 0.5 were seen after starts of Kafka 3.9.1."""


class TrackedResponse(NamedTuple):
    """One answer, read. ``same``: it says what the last one said; ``suspect``: it is not yet believed."""

    message: Message
    changes: Changes
    events: tuple[MetadataEvent, ...]
    same: bool
    suspect: bool


class ResponseTracker:
    """Answers to one request. ``believed``: the last one that was not suspect; None before the first."""

    def __init__(self) -> None:
        self.believed: Message | None = None
        self.last: Message | None = None
        self._decoder: Decoder[Any] | None = None
        self._read: tuple[type[Message], int] | None = None
        self._suspect_since: float | None = None
        self._unreadable = False

    def take(
        self, answer: ReceivedResponse[Any], at: float, *, kraft: bool, others: Collection[ResponseTracker] = ()
    ) -> TrackedResponse:
        """Read an answer. ``at``: seconds of a monotonic clock; ``others``: what other brokers told to this request.

        Raises DecodeError; what is remembered stays.
        """
        try:
            message, changes = self._decode(answer)
        except DecodeError:
            self.was_unreadable()
            raise
        unchanged = same(changes) and not self._unreadable
        self._unreadable = False
        before, self.last = self.last, message
        if self._doubtful(message, at, others):
            return TrackedResponse(message, changes, (), unchanged, suspect=True)
        believed = self.believed
        if self._suspect_since is not None:
            self._suspect_since = None
            found = metadata_events(compare(believed, message), believed, message, kraft=kraft)
        else:
            found = metadata_events(changes, before, message, kraft=kraft)
        self.believed = message
        return TrackedResponse(message, changes, found, unchanged, suspect=False)

    @property
    def suspect(self) -> bool:
        """Whether the last answer is not yet believed."""
        return self._suspect_since is not None

    def was_unreadable(self) -> None:
        """An answer came and could not be read: the next one is the same as none."""
        self._unreadable = True

    def _decode(self, answer: ReceivedResponse[Any]) -> tuple[Message, Changes]:
        """The message, and what differs from the last one."""
        cls, version = answer.sent.response, answer.sent.version
        if self._decoder is not None and self._read == (cls, version):
            return self._decoder.decode(answer.body), self._decoder.changed
        # A first answer, or the broker speaks another version than before its restart.
        fresh: Decoder[Any] = Decoder(cls, version=version)
        message: Message = fresh.decode(answer.body)
        if self._read is not None and self._read[0] is not cls:
            # Another message, as after a fail-over to a cluster of the other dialect: nothing compares with it.
            self.believed = self.last = self._suspect_since = None
        self._decoder, self._read = fresh, (cls, version)
        return message, fresh.changed if self.last is None else compare(self.last, message)

    def _doubtful(self, message: Message, at: float, others: Collection[ResponseTracker]) -> bool:
        """Whether all of something is missing, and nobody has confirmed it."""
        empty = [name for name in ("topics", "brokers") if not getattr(message, name, True)]
        missing = [name for name in empty if self._expects(name, others)]
        if not missing or all(any(other.lacks(name) for other in others) for name in missing):
            return False
        if self._suspect_since is None:
            self._suspect_since = at
            return True
        return at - self._suspect_since < CONFIRMED_AFTER

    def _expects(self, name: str, others: Collection[ResponseTracker]) -> bool:
        """Whether there should be some: there were, or others have some; and who answers is a broker by himself."""
        if self.believed is not None:
            return bool(getattr(self.believed, name, None))
        return name == "brokers" or any(getattr(other.believed, name, None) for other in others)

    def lacks(self, name: str) -> bool:
        """Whether the last answer had none of these (``topics`` or ``brokers``), suspect or not."""
        return self.last is not None and not getattr(self.last, name, True)
