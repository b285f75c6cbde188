"""The routes of the server.

Verbs that read are `GET /api/v1/NOUN/VERB` with parameters in the query. Verbs that change something are `POST` with a
JSON object, which also has `dry_run`; verbs that destroy something require `confirm`. See `openapi` for the document.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from kwire._util.json_document import MalformedJson, parse_json_document, unique_keys
from kwire._util.similar_names import similar
from kwire.client.admin.cluster_router import commands_of_run
from kwire.errors import KwireError
from kwire.terminal.problems import Problem, problem_of
from kwire_admin.http.access import AccessControl, HttpRole, guarded
from kwire_admin.http.arguments import HOW_TO_RUN, arguments, from_query, is_get, options_of, take_page
from kwire_admin.http.idempotency import IdempotentResponses
from kwire_admin.http.observation import RequestObserver, request_id
from kwire_admin.http.openapi import openapi_document, served_verbs
from kwire_admin.http.responses import (
    RequestRefused,
    error_name,
    error_response,
    refuse,
    rows_response,
)
from kwire_admin.http.workers import PrincipalWorkers
from kwire_admin.operations.declaration import Failed, Failure, TimedOut, Unhealthy
from kwire_admin.operations.parameters import Danger, InvalidArgument
from kwire_admin.operations.run import ReturnedFiles, Run, run_verb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from kwire.client.admin.targets import SentCommand
    from kwire.terminal.cluster import ClusterChoice
    from kwire_admin.http.access import HttpCredential
    from kwire_admin.http.change_feed import ChangeFeed
    from kwire_admin.http.incidents import PastIncidents
    from kwire_admin.http.responses import Page
    from kwire_admin.http.workers import PrincipalWorker
    from kwire_admin.operations.declaration import Operation

__all__ = ["application"]

log = logging.getLogger("kwire_admin.http")

LARGEST_BODY = 4 << 20
"""Maximum size of the body of a request in bytes."""
LARGEST_DISCARDED_BODY = 64 << 20
"""Maximum size in bytes of a body that is received although it is refused: a client reads the answer after sending it,
and not if its connection is closed meanwhile. Chosen, not measured."""
LENGTH_DIGITS = 20
"""Maximum number of digits of a Content-Length that is a number: 2^64 has 20."""
BODY_TIMEOUT_S = 30.0
"""Deadline in seconds of the body of a request: 140 kB a second for the largest one."""
PAGE_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in ("page", "server", "tables", "details")},
}


def application(
    cluster: ClusterChoice,
    feed: ChangeFeed,
    tokens: Sequence[HttpCredential] = (),
    anonymous: HttpRole = HttpRole.READ,
    *,
    incidents: PastIncidents | None = None,
    connections: Callable[[], int] = lambda: 0,
) -> ASGIApp:
    """Return the ASGI application that administers a cluster.

    Args:
        cluster: the cluster.
        feed: its changes. The caller closes it.
        tokens: the tokens and certificates; without any, the server must listen on loopback only.
        anonymous: role of requests without a token if there are no tokens.
        incidents: past incidents of the cluster; None if the server has no gold tables.
        connections: returns the number of open connections.
    """
    workers = PrincipalWorkers(cluster)
    idempotent = IdempotentResponses()
    document = json.dumps(openapi_document(needs_token=bool(tokens), types_name=cluster.type_name)).encode()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await workers.close()

    async def openapi(_: Request) -> Response:
        return Response(document, media_type="application/json")

    async def events(request: Request) -> Response:
        stream = feed.stream(request.headers.get("last-event-id"))
        return StreamingResponse(stream, media_type="text/event-stream")

    async def metrics(_: Request) -> Response:
        return observer.metrics()

    routes = [
        *(Route(path, partial(_page_file, *file)) for path, file in PAGE_FILES.items()),
        Route("/openapi.json", openapi),
        Route("/healthz", _health),
        Route("/metrics", guarded(Danger.READS, metrics)),
        Route("/api/v1/events", guarded(Danger.READS, events)),
        Route("/api/v1/incidents", guarded(Danger.READS, partial(_past_incidents, workers, incidents))),
    ]
    routes += [_verb_route(verb, partial(_serve_verb, workers, idempotent, verb)) for verb in served_verbs()]
    # From the outside in: the observer counts and names every request, refused ones too; access control decides;
    # Starlette finds the route.
    handlers = {HTTPException: _no_route, RequestRefused: _refused, Exception: _unexpected}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    control = AccessControl(app, tokens, anonymous, public=(*PAGE_FILES, "/openapi.json", "/healthz"))
    observer = RequestObserver(control, [route.path for route in routes], connections, lambda: feed.readers)
    return observer


def _verb_route(verb: Operation, serve: Callable[[Request], Awaitable[Response]]) -> Route:
    method = "GET" if is_get(verb) else "POST"
    return Route(f"/api/v1/{verb.noun}/{verb.name}", guarded(verb.danger, serve), methods=[method])


async def _health(_: Request) -> Response:
    """Answer that the server runs. The state of the cluster is `GET /api/v1/cluster/health`."""
    return Response(b'{"status":"ok"}', media_type="application/json")


async def _past_incidents(workers: PrincipalWorkers, incidents: PastIncidents | None, request: Request) -> Response:
    if incidents is None:
        return refuse(404, "NoGold", "the server has no past incidents: start it with --gold FOLDER")
    try:
        page, rest = take_page(request.query_params.multi_items())
        if rest:
            raise InvalidArgument(f"incidents has no parameter {rest[0][0]!r}: it has limit, offset")
        rows = await incidents.rows(await workers.run(request.state.principal, _cluster_id))
    except (KwireError, InvalidArgument) as error:
        return error_response(error)
    return _paged(rows_response(rows, page=page), request, page, len(rows))


async def _cluster_id(worker: PrincipalWorker) -> str | None:
    return (await (await worker.admin()).describe_cluster()).cluster_id


async def _page_file(name: str, media_type: str, _: Request) -> Response:
    return Response(files("kwire_admin.http").joinpath("page", name).read_bytes(), media_type=media_type)


def _no_route(request: Request, error: Exception) -> Response:
    """Answer a request for a path or method that does not exist, with the paths that are most similar."""
    assert isinstance(error, HTTPException)
    paths = tuple(f"/api/v1/{verb.noun}/{verb.name}" for verb in served_verbs())
    path = request.url.path
    if error.status_code == 405:
        methods = (error.headers or {}).get("Allow", "")
        message = f"{path} does not have the method {request.method}: it has {methods}"
        response = refuse(405, "MethodNotAllowed", message)
        response.headers["Allow"] = methods
        return response
    suggested = similar(path, paths)
    hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
    return refuse(error.status_code, "NotFound", f"{path} does not exist{hint}")


def _refused(_: Request, error: Exception) -> Response:
    return error_response(error)


def _unexpected(request: Request, error: Exception) -> Response:
    """Answer a request that failed because of a bug. Starlette logs the traceback."""
    return refuse(500, "Unexpected", f"unexpected {type(error).__name__} in {request.url.path}")


async def _serve_verb(
    workers: PrincipalWorkers, idempotent: IdempotentResponses, verb: Operation, request: Request
) -> Response:
    """Run a verb, or repeat the response of a change that the client sends again."""
    key, principal = request.headers.get("idempotency-key"), request.state.principal
    started = time.monotonic()
    try:
        # The body is received here: the connection belongs to this event loop.
        body = b"" if is_get(verb) else await _receive(request)
    except RequestRefused as error:
        _audit(verb, request, {}, error_name(error), started)
        raise
    run = partial(workers.run, principal, partial(_run, verb, request, body))
    if key is None or verb.danger is Danger.READS:
        return (await run()).response
    return await idempotent.respond(principal, key, request.url.path.encode() + b"\n" + body, run)


class VerbResponse(NamedTuple):
    """The response of a run.

    Attributes:
        response: the response.
        has_run: True if a broker may have received the change.
    """

    response: Response
    has_run: bool


async def _run(verb: Operation, request: Request, body: bytes, worker: PrincipalWorker) -> VerbResponse:
    """Run a verb and return its rows. This runs in the thread of the principal."""
    started = time.monotonic()
    warnings: list[str] = []
    options: dict[str, Any] = {}
    files = ReturnedFiles()
    page: Page | None = None
    has_run = True
    commands: list[SentCommand] = []
    commands_of_run.set(commands)
    try:
        if is_get(verb):
            page, items = take_page(request.query_params.multi_items())
            values = from_query(verb, items)
        else:
            values = _json_object(request, body)
            options = _options(verb, values)
        with arguments(verb, values) as checked:
            await worker.check(verb, dry_run=options.get("dry_run", False))
            run = Run(
                await worker.admin(),
                dry_run=options.get("dry_run", False),
                wait=options.get("wait", 0.0),
                confirm=partial(_confirm, options.get("confirm", False), worker.cluster),
                warn=warnings.append,
                here=False,
                files=files,
            )
            rows = await run_verb(verb, run, checked)
        response = _paged(rows_response(rows, warnings, files.texts, page=page), request, page, len(rows))
        outcome = f"{sum(isinstance(row, Failure) for row in rows)} of {len(rows)} items failed"
    except Unhealthy as answer:
        status = 503 if isinstance(answer, TimedOut) else 409 if isinstance(answer, Failed) else 200
        response = rows_response(answer.rows, warnings, files.texts, summary=answer.summary, status=status, page=page)
        response = _paged(response, request, page, len(answer.rows))
        outcome = type(answer).__name__
    except (KwireError, InvalidArgument, RequestRefused) as error:
        response, outcome = error_response(error), error_name(error)
        # A broker has refused the change, the connection was lost after it was sent, or an earlier step was made.
        has_run = (
            not isinstance(error, RequestRefused) and problem_of(error) in (Problem.REFUSED, Problem.OUTCOME_UNKNOWN)
        ) or any(command.answered for command in commands)
    _audit(verb, request, options, outcome, started)
    return VerbResponse(response, has_run)


def _paged(response: Response, request: Request, page: Page | None, total: int) -> Response:
    """Add the link to the next page."""
    if page is not None and page.end < total:
        following = request.url.include_query_params(offset=page.end, limit=page.limit)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return response


def _json_object(request: Request, body: bytes) -> dict[str, Any]:
    """Return the body of a request.

    Raises:
        InvalidArgument: it is not a JSON object.
    """
    if request.query_params:
        raise InvalidArgument("expected the parameters in the body, got some in the address")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InvalidArgument("expected the header Content-Type: application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise InvalidArgument("expected a body without the header Content-Encoding: it must not be compressed")
    try:
        values = parse_json_document(body, object_pairs_hook=unique_keys)
    except MalformedJson as error:
        raise InvalidArgument(f"the body is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise InvalidArgument("expected a JSON object")
    return values


async def _receive(request: Request) -> bytes:
    """Receive the body of a request.

    Raises:
        RequestRefused: it is too large, or was not received in time. A body that is far too large is not received.
    """
    too_large = f"the body is larger than {LARGEST_BODY} bytes"
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > LENGTH_DIGITS or int(announced) > LARGEST_DISCARDED_BODY):
        raise RequestRefused(413, "BodyTooLarge", too_large, {"Connection": "close"})
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                # The limit holds while parts arrive: the length in the header may be missing or a lie.
                body += part
                if len(body) > LARGEST_BODY:
                    raise RequestRefused(413, "BodyTooLarge", too_large)
    except TimeoutError:
        message = f"the body was not received within {BODY_TIMEOUT_S:g} s"
        raise RequestRefused(408, "BodyTimeout", message, {"Connection": "close"}) from None
    return bytes(body)


def _options(verb: Operation, values: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields of HOW_TO_RUN from the values of a body, and return them.

    Raises:
        InvalidArgument: one of them has the wrong type.
    """
    options = {name: values.pop(name) for name in options_of(verb) if name in values}
    if type(options.get("dry_run", False)) is not bool:
        raise InvalidArgument("dry_run: expected true or false")
    if type(options.get("confirm", False)) not in (bool, str):
        raise InvalidArgument("confirm: expected true or false, or the name of the cluster")
    if "wait" in options:
        wait, most = options["wait"], HOW_TO_RUN["wait"]["maximum"]
        if type(wait) not in (int, float) or not 0 <= wait <= most:
            raise InvalidArgument(f"wait: expected seconds between 0 and {most}")
    elif verb.waits:
        options["wait"] = HOW_TO_RUN["wait"]["default"]
    return options


def _confirm(confirmation: bool | str, cluster: ClusterChoice, question: str) -> None:
    """Check the confirmation of a request.

    Raises:
        RequestRefused: the request does not have it.
    """
    expected = cluster.name if cluster.type_name else True
    if confirmation is not expected and confirmation != expected:
        message = f"{question} Confirm with {json.dumps({'confirm': expected})}"
        raise RequestRefused(428, "ConfirmationRequired", message)


def _audit(verb: Operation, request: Request, options: Mapping[str, Any], outcome: str, started: float) -> None:
    """Log the principal, the verb, and the outcome of a change that started at a time of the monotonic clock.

    Neither arguments nor the texts of errors, which quote them, are logged: values of configs can be secrets.
    """
    if verb.danger is Danger.READS:
        return
    log.info(
        "%s ran %s %s%s from %s, request %s: %s (%.3f s)",
        request.state.principal,
        verb.noun,
        verb.name,
        " as a dry run" if options.get("dry_run") else "",
        request.client.host if request.client is not None else "unknown",
        request_id(request.scope),
        outcome,
        time.monotonic() - started,
    )
