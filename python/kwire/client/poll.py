"""``Poll``: what came of asking one broker once, and ``Statistics`` of many.

Rules of this file: plain values. Silence is data: a poll without an answer is a poll with an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from kwire.declare import Message
    from kwire.decoder import Changes
    from kwire.errors import KwireError
    from kwire.metadata.events import MetadataEvent

__all__ = ["Poll", "Statistics"]


class Poll(NamedTuple):
    """One question to one broker, and what came of it.

    ``polled_at``: when the answer was complete or its absence noticed, UTC. ``duration_us``: from sending to then, in
    microseconds; with an error, from the attempt to connect where that failed. ``broker_id``: whom was asked, -1 for a
    bootstrap server that is none of the brokers listed. ``cluster_id``: None until an answer told it.

    ``message``: the answer, None with an ``error``. What did not change since this broker's last answer is the same
    object. ``changed``: what did, as ``kwire.Decoder`` tells it; ``events``: what that means. ``same``: nothing
    but order and controller id differs from the last answer. ``suspect``: all topics or all brokers are missing, as
    after a broker's start; not believed yet, hence without differences.

    ``payload``: the answer's bytes from the correlation id; there also when they could not be read. ``request``: those
    of the request from its API key. ``api_version``: -1 where no version was agreed upon. ``controller_id``: as the
    answer says, None when it does not.
    """

    cluster_id: str | None
    broker_id: int
    endpoint: str
    polled_at: datetime
    duration_us: int
    message: Message | None = None
    events: tuple[MetadataEvent, ...] = ()
    changed: Changes | None = None
    error: KwireError | None = None
    same: bool = False
    payload: bytes | None = None
    suspect: bool = False
    dialect: str = "kafka"
    api_key: int = 3
    api_version: int = -1
    request: bytes | None = None
    controller_id: int | None = None


@dataclass(slots=True)
class Statistics:
    """Counters since the start of a poller.

    ``polls``: all, of which ``same`` and ``errors``. ``bytes``: of all answers. ``late``: polls that were not made in
    time, because the one before took longer than the interval or its reader was slow. ``dropped``: polls that left the
    queue unread (``overflow="drop"``); a capture has them all the same. ``longest_queue``: polls that waited at once.
    """

    polls: int = 0
    same: int = 0
    errors: int = 0
    bytes: int = 0
    late: int = 0
    dropped: int = 0
    longest_queue: int = 0
