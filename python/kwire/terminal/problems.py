"""Kinds of problems that end a command, each with its exit code; HTTP has a status for each."""

from __future__ import annotations

from enum import StrEnum

from kwire.client.admin.errors import (
    AdminError,
    ChangeTimeout,
    ControllerNotFound,
    NotSupported,
    OutcomeUnknown,
    UnfinishedChange,
)
from kwire.errors import EncodeError, KwireError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import AuthenticationFailed, ConnectionFault, NoCommonVersion, TlsHandshakeFailed

__all__ = [
    "EXIT_CODES",
    "INTERRUPTED",
    "NOT_AUTHORIZED",
    "REFUSED",
    "UNHEALTHY",
    "UNKNOWN",
    "UNREACHABLE",
    "USAGE",
    "Problem",
    "exit_code",
    "problem_of",
]


class Problem(StrEnum):
    """The kind of an error.

    Attributes:
        REFUSED: a broker refused an item or the request.
        USAGE: an argument is invalid, or the cluster does not have the operation.
        UNREACHABLE: no broker responded, no broker is responsible at the moment, or a time ran out.
        NOT_AUTHORIZED: authentication or authorization failed.
        OUTCOME_UNKNOWN: the response to a command was lost, or the cluster did not carry it out in time.
    """

    REFUSED = "refused"
    USAGE = "usage"
    UNREACHABLE = "unreachable"
    NOT_AUTHORIZED = "not-authorized"
    OUTCOME_UNKNOWN = "outcome-unknown"


REFUSED, USAGE, UNREACHABLE, NOT_AUTHORIZED, UNKNOWN, UNHEALTHY = 1, 2, 3, 4, 5, 6
"""Exit codes: an item was refused; wrong usage; unreachable or timed out; authentication or authorization failed; the
outcome is unknown; the answer of a check is no."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, or after the answer no."""

EXIT_CODES = {
    Problem.REFUSED: REFUSED,
    Problem.USAGE: USAGE,
    Problem.UNREACHABLE: UNREACHABLE,
    Problem.NOT_AUTHORIZED: NOT_AUTHORIZED,
    Problem.OUTCOME_UNKNOWN: UNKNOWN,
}

AUTHORIZATION = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        ErrorCode.SASL_AUTHENTICATION_FAILED,
    }
)

NOBODY_RESPONSIBLE = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
    }
)
"""Codes of brokers that answer for one that is not there: nothing was refused, and the same may succeed later."""

PROBLEMS: dict[type[Exception], Problem] = {
    EncodeError: Problem.USAGE,  # a value that no request can carry: it never reached a broker
    NotSupported: Problem.USAGE,
    NoCommonVersion: Problem.USAGE,
    OutcomeUnknown: Problem.OUTCOME_UNKNOWN,
    ChangeTimeout: Problem.UNREACHABLE,
    ControllerNotFound: Problem.UNREACHABLE,
    AuthenticationFailed: Problem.NOT_AUTHORIZED,
    TlsHandshakeFailed: Problem.NOT_AUTHORIZED,
    ConnectionFault: Problem.UNREACHABLE,
}
"""Problems by class of error, a derived class before its base."""


def problem_of(error: Exception) -> Problem:
    """Return the kind of an error."""
    if isinstance(error, UnfinishedChange):
        return Problem.OUTCOME_UNKNOWN
    if isinstance(error, AdminError):
        if error.code in AUTHORIZATION:
            return Problem.NOT_AUTHORIZED
        if error.code == ErrorCode.REQUEST_TIMED_OUT:  # of both dialects: the change may have been made
            return Problem.OUTCOME_UNKNOWN
        return Problem.UNREACHABLE if error.code in NOBODY_RESPONSIBLE else Problem.REFUSED
    if isinstance(error, ValueError) and not isinstance(error, KwireError):  # an argument is invalid
        return Problem.USAGE
    for kind, problem in PROBLEMS.items():
        if isinstance(error, kind):
            return problem
    return Problem.UNREACHABLE if getattr(error, "is_unreachable", False) else Problem.REFUSED


def exit_code(error: Exception) -> int:
    """Return the exit code for an error."""
    return EXIT_CODES[problem_of(error)]
