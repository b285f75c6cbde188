"""The response to a request, and the errors in it: of the whole request, and of single items.

A result is any struct with an `error_code`; some have an `error_message` as well.
"""

from __future__ import annotations

from operator import attrgetter

from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from kwire.client.admin.errors import AdminError, UnfinishedChange
from kwire.client.admin.permissions import missing_permission
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kwire.declare import Message
    from kwire.protocol.endpoint import Endpoint

R = TypeVar("R", bound="Message")
K = TypeVar("K")
V = TypeVar("V")

error_code: Callable[[Any], int] = attrgetter("error_code")
"""Return the error code of a whole response."""


def first_error_code(results: str) -> Callable[[Any], int]:
    """Return a function that returns the error code of the first result of a response, 0 if a result has no error.

    A broker that is not responsible reports it for every item. If only some items were refused, the request must not be
    sent again: the others have changed.

    Args:
        results: the field of the response with its results.
    """

    def code(response: Any) -> int:
        items = getattr(response, results)
        return items[0].error_code if items and all(item.error_code for item in items) else 0

    return code


def result_error(result: Any, item: str, attempts: int = 1, *, is_command: bool = False) -> AdminError | None:
    """Return the error of a result for an item, or None, so that `result_error(...) or value` is either.

    Args:
        is_command: True for the result of a change, which may follow after an error about the time.
    """
    if not result.error_code:
        return None
    # The messages of an API are in a module of their own.
    needs = missing_permission(type(result).__module__.rpartition(".")[2], result.error_code)
    text = getattr(result, "error_message", None)
    if needs is not None and text is not None and "Request(" in text:
        text = None  # the internals of a request: `Request Request(processor=0, connectionId=...`
    if is_command and result.error_code == ErrorCode.REQUEST_TIMED_OUT:
        return UnfinishedChange.of_kafka(result.error_code, item, UnfinishedChange.MEANING, attempts)
    return AdminError.of_kafka(result.error_code, item, text, attempts, needs)


def complete(requested: Iterable[K], reported: Mapping[K, V | AdminError]) -> dict[K, V | AdminError]:
    """Return the results of all requested items, and of no others: the error of an item that the response lacks."""
    return {item: reported[item] if item in reported else lacking(str(item)) for item in requested}


def lacking(item: str) -> AdminError:
    """Return the error of an item that a response lacks although it was requested."""
    return AdminError.of_kafka(ErrorCode.UNKNOWN_SERVER_ERROR, item, "the response of the broker lacks it")


class Answer(NamedTuple, Generic[R]):
    """A response, the broker that sent it, how many attempts it took, and whether the request was a change."""

    response: R
    endpoint: Endpoint
    attempts: int
    is_command: bool = False

    def accepted(self, item: str = "") -> R:
        """Return the response.

        Args:
            item: the subject of an error of the whole request.

        Raises:
            AdminError: the broker refused the whole request.
        """
        error = self.error(self.response, item)
        if error is not None:
            raise error
        return self.response

    def error(self, result: Any, item: str) -> AdminError | None:
        """Return the error of one of the results, or None."""
        return result_error(result, item, self.attempts, is_command=self.is_command)

    def outcomes(self, results: Iterable[tuple[str, Any]], requested: Iterable[str] | None = None) -> Outcomes:
        """Return the outcomes for pairs of an item and its result.

        Args:
            results: the pairs in the response.
            requested: the items of the request. An item that the response lacks has an error, and others are ignored.
                None if the request was for all items.
        """
        reported = {item: self.error(result, item) for item, result in results}
        if requested is not None:
            reported = complete(requested, reported)
        return Outcomes(reported, self.attempts)
