"""What the command says about an error of a cluster, and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin.errors import AdminError, ChangeTimeout, ControllerNotFound, NotSupported, OutcomeUnknown
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import AuthenticationFailed, ConnectionFault, NoCommonVersion, TlsHandshakeFailed
from kwire.verbs.changes import InvalidArgument
from kwire.verbs.verb import Failed, TimedOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.verbs.verb import Unhealthy

REFUSED, USAGE, UNREACHABLE, NOT_AUTHORIZED, UNKNOWN, UNHEALTHY = 1, 2, 3, 4, 5, 6
"""Exit codes: an item was refused; wrong usage; unreachable or timed out; authentication or authorization failed; the
outcome is unknown; the answer of a check is no."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, or after the answer no."""

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

EXIT_CODES: dict[type[Exception], int] = {
    InvalidArgument: USAGE,
    NotSupported: USAGE,
    NoCommonVersion: USAGE,
    OutcomeUnknown: UNKNOWN,
    ChangeTimeout: UNREACHABLE,
    ControllerNotFound: UNREACHABLE,
    AuthenticationFailed: NOT_AUTHORIZED,
    TlsHandshakeFailed: NOT_AUTHORIZED,
    ConnectionFault: UNREACHABLE,
}
"""Exit codes by class of error, a derived class before its base."""


def exit_code(error: Exception) -> int:
    """Return the exit code for an error."""
    if isinstance(error, AdminError):
        return NOT_AUTHORIZED if error.code in AUTHORIZATION else REFUSED
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), REFUSED)


def exit_code_of_answer(answer: Unhealthy) -> int:
    """Return the exit code of a verb with an answer that is not good."""
    if isinstance(answer, TimedOut):
        return UNREACHABLE
    return REFUSED if isinstance(answer, Failed) else UNHEALTHY


def exit_code_of_items(errors: Sequence[AdminError]) -> int:
    """Return the exit code for the errors of items: the largest of their codes; 0 without errors."""
    return max(map(exit_code, errors), default=0)
