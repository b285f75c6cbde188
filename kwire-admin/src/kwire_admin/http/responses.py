"""Rows and errors of verbs as JSON, and the statuses of responses."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from kwire.client.admin import AdminError, NotSupported
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion
from kwire.terminal.problems import Problem, problem_of
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.parameters import Conflict, NotFound
from kwire_admin.operations.rows import json_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "PROBLEM",
    "STATUSES",
    "Page",
    "RequestRefused",
    "error_name",
    "error_response",
    "refuse",
    "rows_response",
    "status_of",
]

STATUSES = {
    Problem.REFUSED: 409,
    Problem.USAGE: 400,
    Problem.NOT_AUTHORIZED: 403,
    Problem.UNREACHABLE: 503,
    Problem.OUTCOME_UNKNOWN: 502,
}
"""The status of a response by the problem that ended a run."""
NOT_FOUND = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
    }
)
PARTLY = 207
ROWS_AT_ONCE = 1_000
"""Maximum number of rows that are written as JSON at once: some milliseconds."""
PROBLEM = "application/problem+json"
"""Media type of errors."""


class RequestRefused(Exception):
    """A request that is answered before its verb runs.

    Args:
        status: the status of the response.
        name: the name of the error.
        message: the sentence.
        headers: headers of the response.
    """

    def __init__(self, status: int, name: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.name, self.headers = status, name, headers or {}


def status_of(error: Exception) -> int:
    """Return the status for an error."""
    if isinstance(error, RequestRefused):
        return error.status
    if isinstance(error, NotFound) or (isinstance(error, AdminError) and error.code in NOT_FOUND):
        return 404
    # The cluster is not as the request needs it: it does not have an API, for example.
    if isinstance(error, Conflict | NotSupported | NoCommonVersion):
        return 409
    return STATUSES[problem_of(error)]


def rows_response(
    rows: Sequence[Any],
    warnings: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    *,
    summary: str | None = None,
    status: int | None = None,
    page: Page | None = None,
) -> Response:
    """Return the response of a run: 200; 207 if some items failed; the status of the first error if all failed.

    Args:
        rows: the rows and failures.
        warnings: sentences beside the result.
        files: the texts of files that the command would have written, by parameter.
        summary: the findings of a check.
        status: the status instead.
        page: the rows to return; None for all.
    """
    failures = [row for row in rows if isinstance(row, Failure)]
    if status is None:
        status = 200 if not failures else PARTLY if len(failures) < len(rows) else status_of(failures[0].error)
    body: dict[str, Any] = {"rows": json_value(rows if page is None else rows[page.offset : page.end])}
    if page is not None:
        body["total"] = len(rows)
    if warnings:
        body["warnings"] = list(warnings)
    if files:
        body["files"] = dict(files)
    if summary is not None:
        body["summary"] = summary
    if status >= 400:
        error = failures[0].error if failures else None
        name = "CheckFailed" if error is None else error_name(error)
        return _problem(
            status, name, summary or str(error), error.code if isinstance(error, AdminError) else None, body
        )
    return _json(body, status)


class Page(NamedTuple):
    """A range of rows.

    Attributes:
        offset: number of rows before it.
        limit: maximum number of rows.
    """

    offset: int
    limit: int

    @property
    def end(self) -> int:
        """Number of rows up to its end."""
        return self.offset + self.limit


def error_response(error: Exception) -> Response:
    """Return the response for an error of a whole run."""
    code = error.code if isinstance(error, AdminError) else None
    response = refuse(status_of(error), error_name(error), str(error), code)
    if isinstance(error, RequestRefused):
        response.headers.update(error.headers)
    return response


def error_name(error: Exception) -> str:
    """Return the name of an error: Kafka's for the error of a broker, such as TOPIC_ALREADY_EXISTS."""
    return error.name if isinstance(error, AdminError | RequestRefused) else type(error).__name__


def refuse(status: int, name: str, message: str, code: int | None = None) -> Response:
    """Return the response of a request that is not served."""
    return _problem(status, name, message, code, {})


def _problem(status: int, name: str, detail: str, code: int | None, members: Mapping[str, Any]) -> Response:
    """Return a problem document of RFC 9457. Without a type, its title is the phrase of the status."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "name": name, "code": code}
    return _json(body | dict(members), status, PROBLEM)


def _json(body: Any, status: int, media_type: str = "application/json") -> Response:
    # Piece by piece: one call for megabytes would keep the interpreter from all other threads until its end.
    encoder = json.JSONEncoder(separators=(",", ":"))
    rows = body.get("rows", ()) if isinstance(body, dict) else ()
    if len(rows) <= ROWS_AT_ONCE:
        return Response(encoder.encode(body).encode("ascii"), status, media_type=media_type)
    pieces = [encoder.encode(rows[start : start + ROWS_AT_ONCE])[1:-1] for start in range(0, len(rows), ROWS_AT_ONCE)]
    head, _, tail = encoder.encode(body | {"rows": []}).partition('"rows":[]')
    content = f'{head}"rows":[{",".join(pieces)}]{tail}'
    return Response(content.encode("ascii"), status, media_type=media_type)
