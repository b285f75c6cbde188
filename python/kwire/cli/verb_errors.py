"""The exit codes of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.protocol.errors import ConnectFailed
from kwire.verbs.problems import Problem, problem_of
from kwire.verbs.verb import Failed, TimedOut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin.errors import AdminError
    from kwire.verbs.verb import Unhealthy

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


def sentence_of(error: Exception) -> str:
    """Return an error as one sentence, with what to do about a broker that cannot be reached."""
    advice = ": check the address, and that a broker listens there" if isinstance(error, ConnectFailed) else ""
    return f"{error}{advice}"


def exit_code(error: Exception) -> int:
    """Return the exit code for an error."""
    return EXIT_CODES[problem_of(error)]


def exit_code_of_answer(answer: Unhealthy) -> int:
    """Return the exit code of a verb with an answer that is not good."""
    if isinstance(answer, TimedOut):
        return UNREACHABLE
    return REFUSED if isinstance(answer, Failed) else UNHEALTHY


def exit_code_of_items(errors: Sequence[AdminError]) -> int:
    """Return the exit code for the errors of items: the largest of their codes; 0 without errors."""
    return max(map(exit_code, errors), default=0)
