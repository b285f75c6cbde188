"""The states of a request to a cluster. Each row of the table in `kwire.client.admin.attempt` is a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin.attempt import Attempt, AttemptState
from kwire.client.admin.errors import BrokerNotFound, OutcomeUnknown
from kwire.messages.kafka.create_topics import CreateTopicsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode
from kwire.protocol import Endpoint
from kwire.protocol.errors import AuthenticationFailed, ConnectionClosed, NoCommonVersion, Timeout

if TYPE_CHECKING:
    from kwire.protocol.errors import ConnectionFault
    from kwire.protocol.negotiated_versions import Dialect

BROKER = Endpoint("broker-1", 9092)
RESPONSE = CreateTopicsResponse(topics=())
LOST = ConnectionClosed(BROKER, 0)
REJECTED = AuthenticationFailed(BROKER, "PLAIN", "alice", "wrong password")
UNSERVED = NoCommonVersion(BROKER, "CreateTopicsRequest", "2-7", None)
SECONDS = 30.0


def attempt(state: AttemptState, *, is_repeatable: bool = False, is_single: bool = False) -> Attempt[Any]:
    """Return an attempt in its first try that has reached a state."""
    attempt: Attempt[Any] = Attempt("CreateTopicsRequest", is_repeatable=is_repeatable, is_single=is_single)
    if state is AttemptState.PAUSING:
        attempt.located(None)
    elif state is not AttemptState.LOCATING:
        attempt.located(BROKER)
        if state is AttemptState.IN_FLIGHT:
            attempt.sending()
    assert attempt.state is state
    return attempt


def not_found() -> Exception:
    return BrokerNotFound(7)


def test_located_target_is_connected_to() -> None:
    located = attempt(AttemptState.LOCATING)
    located.located(BROKER)
    assert (located.state, located.endpoint, located.tries) == (AttemptState.CONNECTING, BROKER, 0)


def test_unknown_target_is_located_again_after_a_pause() -> None:
    lost = attempt(AttemptState.LOCATING)
    lost.located(None)
    assert (lost.state, lost.endpoint) == (AttemptState.PAUSING, None)
    lost.paused()
    assert lost.state is AttemptState.LOCATING


def test_sent_request_counts_as_a_try() -> None:
    sent = attempt(AttemptState.CONNECTING)
    sent.sending()
    assert (sent.state, sent.tries) == (AttemptState.IN_FLIGHT, 1)


@pytest.mark.parametrize("state", [AttemptState.CONNECTING, AttemptState.IN_FLIGHT])
@pytest.mark.parametrize("is_repeatable", [False, True])
def test_api_that_is_not_served_ends_the_attempt(state: AttemptState, is_repeatable: bool) -> None:
    with pytest.raises(NoCommonVersion):
        attempt(state, is_repeatable=is_repeatable).failed(UNSERVED)


@pytest.mark.parametrize(
    ("state", "is_repeatable", "is_single", "fault", "outcome"),
    [
        (AttemptState.CONNECTING, False, False, LOST, AttemptState.PAUSING),
        (AttemptState.CONNECTING, True, False, LOST, AttemptState.PAUSING),
        (AttemptState.CONNECTING, False, True, LOST, ConnectionClosed),
        (AttemptState.CONNECTING, False, False, REJECTED, AuthenticationFailed),
        (AttemptState.CONNECTING, True, True, REJECTED, AuthenticationFailed),
        (AttemptState.IN_FLIGHT, False, False, LOST, OutcomeUnknown),
        (AttemptState.IN_FLIGHT, False, True, LOST, OutcomeUnknown),
        (AttemptState.IN_FLIGHT, False, False, REJECTED, OutcomeUnknown),
        (AttemptState.IN_FLIGHT, True, False, LOST, AttemptState.PAUSING),
        (AttemptState.IN_FLIGHT, True, True, LOST, ConnectionClosed),
        (AttemptState.IN_FLIGHT, True, False, REJECTED, AuthenticationFailed),
    ],
)
def test_fault(
    state: AttemptState,
    is_repeatable: bool,
    is_single: bool,
    fault: ConnectionFault,
    outcome: AttemptState | type[Exception],
) -> None:
    failing = attempt(state, is_repeatable=is_repeatable, is_single=is_single)
    if isinstance(outcome, AttemptState):
        failing.failed(fault)
        assert failing.state is outcome
    else:
        with pytest.raises(outcome):
            failing.failed(fault)


@pytest.mark.parametrize(
    ("code", "dialect", "is_repeatable", "may_retry"),
    [
        (0, "kafka", True, False),
        (ErrorCode.TOPIC_ALREADY_EXISTS, "kafka", True, False),
        (ErrorCode.NOT_CONTROLLER, "kafka", False, True),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "kafka", False, True),
        (ErrorCode.REQUEST_TIMED_OUT, "kafka", False, False),  # it may have had an effect
        (ErrorCode.REQUEST_TIMED_OUT, "kafka", True, True),
        (12345, "kafka", True, False),
        (Kip4ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST, "kip4", False, True),
        (ErrorCode.REQUEST_TIMED_OUT, "kip4", True, False),
    ],
)
def test_response(code: int, dialect: Dialect, is_repeatable: bool, may_retry: bool) -> None:
    answered = attempt(AttemptState.IN_FLIGHT, is_repeatable=is_repeatable)
    answer = answered.responded(RESPONSE, code, dialect, BROKER)
    if may_retry:
        assert answer is None
        assert answered.state is AttemptState.PAUSING
        refusal = answered.timed_out(SECONDS, not_found)
        assert (refusal.response, refusal.endpoint, refusal.attempts) == (RESPONSE, BROKER, 1)
    else:
        assert answer is not None
        assert (answer.response, answer.endpoint, answer.attempts) == (RESPONSE, BROKER, 1)


@pytest.mark.parametrize("is_repeatable", [False, True])
@pytest.mark.parametrize(
    ("state", "error"),
    [
        (AttemptState.LOCATING, BrokerNotFound),
        (AttemptState.PAUSING, BrokerNotFound),
        (AttemptState.CONNECTING, Timeout),
    ],
)
def test_timeout_before_the_request_is_sent(state: AttemptState, is_repeatable: bool, error: type[Exception]) -> None:
    with pytest.raises(error):
        attempt(state, is_repeatable=is_repeatable).timed_out(SECONDS, not_found)


def test_timeout_of_a_request_in_flight() -> None:
    with pytest.raises(OutcomeUnknown, match="no response to CreateTopicsRequest within 30 s"):
        attempt(AttemptState.IN_FLIGHT).timed_out(SECONDS, not_found)
    with pytest.raises(Timeout, match="no response to CreateTopicsRequest within 30 s"):
        attempt(AttemptState.IN_FLIGHT, is_repeatable=True).timed_out(SECONDS, not_found)


def test_timeout_reports_the_last_fault_or_better_the_last_refusal() -> None:
    retried = attempt(AttemptState.IN_FLIGHT, is_repeatable=True)
    retried.failed(LOST)
    with pytest.raises(ConnectionClosed):  # PAUSING
        retried.timed_out(SECONDS, not_found)
    retried.paused()
    with pytest.raises(ConnectionClosed):  # LOCATING
        retried.timed_out(SECONDS, not_found)
    retried.located(BROKER)
    with pytest.raises(ConnectionClosed):  # CONNECTING
        retried.timed_out(SECONDS, not_found)
    retried.sending()
    with pytest.raises(ConnectionClosed):  # IN_FLIGHT
        retried.timed_out(SECONDS, not_found)

    retried.responded(RESPONSE, ErrorCode.NOT_CONTROLLER, "kafka", BROKER)
    retried.paused()
    retried.located(BROKER)
    retried.sending()
    retried.failed(LOST)
    assert retried.timed_out(SECONDS, not_found).attempts == 2


def test_attempt_says_what_it_waits_for() -> None:
    assert [attempt(state).waiting_for() for state in AttemptState] == [
        "looking for the broker for CreateTopicsRequest",
        "connecting to broker-1:9092 for CreateTopicsRequest",
        "waiting for broker-1:9092 to answer CreateTopicsRequest",
        "trying CreateTopicsRequest again",
    ]
    failed = attempt(AttemptState.CONNECTING)
    failed.failed(LOST)
    assert failed.waiting_for() == f"trying CreateTopicsRequest again ({LOST})"
    refused = attempt(AttemptState.IN_FLIGHT)
    assert refused.responded(RESPONSE, ErrorCode.NOT_CONTROLLER, "kafka", BROKER) is None
    refused.paused()
    assert refused.waiting_for() == "looking for the broker for CreateTopicsRequest (broker-1:9092 is not ready for it)"
