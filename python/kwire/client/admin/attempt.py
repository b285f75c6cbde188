"""The state machine of one request to a cluster, with all its tries. It does no I/O: `ClusterRouter` reports events.

A request that only reads, and a command with the same effect if it is executed twice, is *repeatable*. Any other
command is sent again only if it certainly had no effect: it was not sent, or the broker answered that another broker is
responsible. If its response is lost, the error is OutcomeUnknown. So is the error of a repeatable command if it ends
while one of its tries has no response: that try may have taken effect.

| state | event | next state or end |
|---|---|---|
| LOCATING | a broker is the target | CONNECTING |
| LOCATING | no broker knows the target | PAUSING |
| LOCATING, PAUSING | the timeout | the last refusal, else the last fault, else the error of the target |
| CONNECTING | the request is sent | IN_FLIGHT |
| CONNECTING, IN_FLIGHT | the broker does not serve the API | raises the fault, NoCommonVersion |
| CONNECTING | a fault that retrying does not cure | raises it |
| CONNECTING | another fault | PAUSING; raises it if there is only a single try |
| IN_FLIGHT | a response with a code by which another broker or another time may accept the request | PAUSING |
| IN_FLIGHT | any other response | returns it |
| IN_FLIGHT | a fault, not repeatable | raises OutcomeUnknown |
| IN_FLIGHT | a fault, repeatable | as in CONNECTING, but a command raises OutcomeUnknown |
| IN_FLIGHT | the timeout, not repeatable | raises OutcomeUnknown |
| any | the timeout, and a try of a repeatable command has no response | raises OutcomeUnknown |
| CONNECTING; IN_FLIGHT, repeatable | the timeout | the last refusal, else the last fault, else Timeout |
| PAUSING | the pause is over | LOCATING |
| CONNECTING | overdue, and the target is another broker now | CONNECTING to that one |
| IN_FLIGHT, repeatable | overdue, and the target is another broker now | CONNECTING to that one, too |

`kwire.client.admin.tries` says when a try is overdue. The state belongs to the last try.
"""

from __future__ import annotations

from enum import Enum, auto

from kwire._util.light_typing import TYPE_CHECKING, Generic, TypeVar
from kwire.client.admin.answer import Answer
from kwire.client.admin.errors import OutcomeUnknown
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault, NoCommonVersion, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.declare import Message
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

R = TypeVar("R", bound="Message")

WRONG_BROKER_ERRORS = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
    }
)
"""Error codes by which a broker of Kafka refuses a request that another broker may accept."""


def is_of_wrong_broker(dialect: Dialect, code: int) -> bool:
    """Return whether a broker has refused a request that another broker may accept: it had no effect."""
    if dialect == "kafka":
        return code in WRONG_BROKER_ERRORS
    from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode  # clients of Kafka do without

    return code in {Kip4ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST, Kip4ErrorCode.NOT_CONTROLLER}


def is_retriable(dialect: Dialect, code: int) -> bool:
    """Return whether a request with an error code may succeed later, and might have had an effect.

    The drafts do not tell which of their codes are retriable.
    """
    return dialect == "kafka" and ErrorCode(code).retriable


class AttemptState(Enum):
    """The states of an attempt. Its last state is the one in which it ended."""

    LOCATING = auto()
    CONNECTING = auto()
    IN_FLIGHT = auto()
    PAUSING = auto()


class Attempt(Generic[R]):
    """A request to a cluster from its first try to its end.

    Args:
        request: the name of the request message.
        is_repeatable: True if a second execution has the same effect and the same response as the first one. It may be
            sent to several brokers.
        is_single: True if a fault ends the attempt, because the caller then looks for another broker itself.
        is_command: True if the request changes something; so does one that is not repeatable.

    Attributes:
        state: the current state.
        endpoint: the broker of the current try; None if no broker was located yet.
        tries: number of times that the request was sent.
    """

    __slots__ = (
        "_fault",
        "_is_command",
        "_is_single",
        "_refusal",
        "_request",
        "_responses",
        "endpoint",
        "is_repeatable",
        "state",
        "tries",
    )

    def __init__(self, request: str, *, is_repeatable: bool, is_single: bool, is_command: bool = False) -> None:
        self._request = request
        self._is_command = is_command or not is_repeatable
        self.is_repeatable = is_repeatable
        self._is_single = is_single
        self._fault: ConnectionFault | None = None
        self._refusal: Answer[R] | None = None
        self.state = AttemptState.LOCATING
        self.endpoint: Endpoint | None = None
        self.tries = 0
        self._responses = 0

    def located(self, endpoint: Endpoint | None) -> None:
        """Continue with the broker that is the target, or pause if no broker knows the target."""
        self.endpoint = endpoint
        self.state = AttemptState.PAUSING if endpoint is None else AttemptState.CONNECTING

    def sending(self) -> None:
        """Count a try. From here on, the request may have an effect."""
        self.tries += 1
        self.state = AttemptState.IN_FLIGHT

    def responded(self, response: R, code: int, dialect: Dialect, endpoint: Endpoint) -> Answer[R] | None:
        """Return the answer, or None to try again.

        Args:
            code: the error code of the whole response; 0 if it has none.
            endpoint: the broker that responded. Two brokers may have been asked.
        """
        self._responses += 1
        answer = Answer(response, endpoint, self.tries, self._is_command)
        may_retry = is_of_wrong_broker(dialect, code) or (self.is_repeatable and is_retriable(dialect, code))
        if not may_retry:
            return answer
        self._refusal = answer
        self.state = AttemptState.PAUSING
        return None

    def failed(self, fault: ConnectionFault) -> None:
        """Pause after a fault, or end the attempt.

        Raises:
            OutcomeUnknown: the request was sent, and must not be repeated, or not by this attempt.
            ConnectionFault: the fault, if another try would have it as well, or there is only a single try.
        """
        if isinstance(fault, NoCommonVersion):
            raise fault
        is_last = self._is_single or not fault.retriable
        if self._may_have_taken_effect and (is_last or not self.is_repeatable):
            raise self._outcome_unknown(fault) from fault
        if is_last:
            raise fault
        self._fault = fault
        self.state = AttemptState.PAUSING

    def paused(self) -> None:
        """Begin the next try."""
        self.state = AttemptState.LOCATING

    @property
    def _may_have_taken_effect(self) -> bool:
        """True if a try of a command has no response."""
        return self._is_command and self.tries > self._responses

    def _outcome_unknown(self, fault: ConnectionFault) -> OutcomeUnknown:
        return OutcomeUnknown(self._request, fault, self.tries, is_repeatable=self.is_repeatable)

    def waiting_for(self) -> str:
        """Return what the attempt waits for, in a few words."""
        because = self._because()
        match self.state:
            case AttemptState.LOCATING:
                return f"looking for the broker for {self._request}{because}"
            case AttemptState.CONNECTING:
                return f"connecting to {self.endpoint} for {self._request}{because}"
            case AttemptState.IN_FLIGHT:
                return f"waiting for {self.endpoint} to answer {self._request}{because}"
        return f"trying {self._request} again{because}"

    def _because(self) -> str:
        """Return the reason of the tries so far; empty during the first one."""
        if self._refusal is not None:
            return f" ({self._refusal.endpoint} is not ready for it)"
        return "" if self._fault is None else f" ({self._fault})"

    def timed_out(self, seconds: float, not_found: Callable[[], Exception]) -> Answer[R]:
        """Return the last refusal if all tries have responses. It says more than the timeout or an earlier fault.

        Args:
            seconds: the timeout.
            not_found: returns the error for a target that no broker knows.

        Raises:
            OutcomeUnknown: the request was sent, and a try has no response.
            ConnectionFault: the last fault, or that the broker did not respond.
            Exception: the target was not found.
        """
        unanswered: Timeout | None = None
        if self.endpoint is not None and self.state in (AttemptState.CONNECTING, AttemptState.IN_FLIGHT):
            unanswered = Timeout(self.endpoint, self._request, seconds)
        lost = self._fault or unanswered
        if self._may_have_taken_effect and lost is not None:
            raise self._outcome_unknown(lost) from None
        if self._refusal is not None:
            return self._refusal
        raise (self._fault or unanswered or not_found()) from None
