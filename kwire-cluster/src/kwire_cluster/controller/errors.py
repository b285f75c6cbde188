"""Errors of the controller that are reported to clients.

An CommandError concerns one topic and does not affect the other topics of a batch. NotController, QueueFull, and
RequestTimedOut concern the whole request, or what was not done of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.messages.kip4.error_codes import ErrorCode, not_controller_text
from kwire.messages.kip4.strings import shortened
from kwire.metadata.replica_assignment import ImpossibleAssignment

if TYPE_CHECKING:
    from collections.abc import Iterator


class CommandError(KwireError):
    """A request about one topic was rejected.

    Attributes:
        code: the error code of the response.
        reason: the error description for people. A long one is shortened, because a response could not carry it.
    """

    def __init__(self, code: ErrorCode, reason: str) -> None:
        reason = shortened(reason)
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class NotController(CommandError):
    """This broker is not or no longer the controller. A request in progress may have been carried out.

    Attributes:
        broker_id: the id of this broker.
    """

    def __init__(self, broker_id: int) -> None:
        super().__init__(ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST, not_controller_text(broker_id))
        self.broker_id = broker_id


class QueueFull(CommandError):
    """The controller's queue is full, and the request was not accepted.

    Attributes:
        limit: the maximum number of waiting requests, of all clients or of one.
    """

    def __init__(self, limit: int, *, of_client: bool = False) -> None:
        sender = " of this client" if of_client else ""
        reason = f"{limit} requests{sender} are already waiting for the controller: try again later"
        super().__init__(ErrorCode.ADMIN_REQUEST_FAILED, reason)
        self.limit = limit


class RequestTimedOut(CommandError):
    """ZooKeeper could not be reached in time.

    Attributes:
        started: true if the request may still be carried out.
    """

    def __init__(self, seconds: float, *, started: bool) -> None:
        outcome = "the outcome is unknown" if started else "nothing was changed"
        reason = f"ZooKeeper cannot be reached, and the request has waited for {seconds:g} s: {outcome}"
        super().__init__(ErrorCode.REQUEST_TIMED_OUT, reason)
        self.started = started


def reassignment_in_progress() -> CommandError:
    """Return the error for a second reassignment."""
    reason = "another partition reassignment is in progress"
    return CommandError(ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS, reason)


def write_failed(error: Exception) -> CommandError:
    """Return the error for a failed write to ZooKeeper."""
    return CommandError(ErrorCode.ADMIN_REQUEST_FAILED, f"cannot write to ZooKeeper: {error}")


@contextmanager
def refusing_impossible_assignments() -> Iterator[None]:
    """Reject the request about a topic if its replicas cannot be assigned.

    Raises:
        CommandError: with the code and the reason of the assignment.
    """
    try:
        yield
    except ImpossibleAssignment as error:
        raise CommandError(error.code, error.reason) from None
