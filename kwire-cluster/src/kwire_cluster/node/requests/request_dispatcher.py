"""Request dispatch: decode a request, call the handler of its API, encode the response.

- Equal requests get equal responses until the metadata changes, so a small response from memory is cached by the bytes
  of its request, without the correlation id. The engine then answers runs of equal requests without Python looking at
  each. The cache is bounded and is cleared by every metadata change. With an authorizer, every subject of a client has
  a cache of its own.
- A request that cannot be decoded, or that is not served, closes its connection, because the layout of its response is
  unknown. The exception is ApiVersions of an unknown version, which is answered in version 0 with error 35.
"""

from __future__ import annotations

from functools import cache
from struct import Struct, pack, unpack_from
from time import perf_counter
from typing import TYPE_CHECKING, Any

from kwire import _kwire, frame
from kwire.authorization.subjects import ANONYMOUS, Subject
from kwire.codec import encode
from kwire.declare import Message, introspect
from kwire.declare.wire_types import ArrayType, StructType
from kwire.errors import DecodeError
from kwire.messages import UnknownMessage
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip584.api_versions import ApiVersionsRequest
from kwire_cluster.node.listener.connection_limits import CloseReason, InvalidRequest
from kwire_cluster.node.logs import bound, logger
from kwire_cluster.node.requests.apis import DIALECT, api_versions, find_handler, served_requests
from kwire_cluster.node.requests.request_context import RequestContext
from kwire_cluster.request_quotas import TimeSlice

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from kwire import declare
    from kwire.declare.wire_types import WireType
    from kwire.messages.headers import RequestHeader
    from kwire.protocol.server_connection import Frame
    from kwire_cluster.node.listener.connection_limits import ConnectedClient
    from kwire_cluster.node.metrics import Metrics
    from kwire_cluster.node.requests.apis import Response
    from kwire_cluster.node.requests.request_context import NodeServices

BEFORE_AUTHENTICATION = (ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest)
"""Requests accepted before authentication on a listener with SASL."""
ADMINISTRATION = (*BEFORE_AUTHENTICATION, ClusterMetadataRequest, AdminRequest, UpdateMetadataRequest)
"""Requests accepted on a connection that exceeds a limit, so that an administrator can raise the limit again and the
controller can update the node."""
UNKNOWN = Subject()
"""The subject of such a request."""

HEADER_BYTES = 10
"""Bytes of a request's header before the client id, with its length."""

MAX_CACHED_RESPONSES = 256
MAX_CACHED_BODY = 1 << 15
"""Bytes of the largest cached body. For a larger one, decoding the request costs nothing in comparison."""

MIN_SPLIT_BODY = 1 << 19
"""Bytes from which a frame has two parts, because prepending the size and the header would copy the whole body."""
FIRST_PART = 1 << 18
"""Bytes of the body in the first part. A small first part would wake the client before it has enough to do."""

size_and_correlation_id = Struct(">ii").pack

log = logger(__name__)


class RequestDispatcher:
    """Answers the requests that a `Listener` receives."""

    def __init__(self, node: NodeServices, metrics: Metrics, *, has_sasl: bool = False) -> None:
        self._node = node
        self._metadata = node.metadata
        self._metrics = metrics
        self._from_memory = metrics.from_memory
        self._shared = _kwire.ResponseCache() if node.authorizer is None and not has_sasl else None
        """Responses by request, each labeled with the client id and the name of the request class; None if every
        subject has its own."""
        self._of_subjects: dict[Subject, _kwire.ResponseCache] = {}
        """The caches that have responses."""
        self._cached_count = 0
        """The number of responses in all caches, at least."""
        self._cached_at = node.metadata.changes

    def cached_responses(
        self, client: ConnectedClient, received: bytes, start: int, limit: int
    ) -> tuple[bytes, int] | None:
        """Return cached responses to the run of equal requests at `start`.

        Args:
            client: the sender.
            received: bytes from the client.
            start: the offset of the first request.
            limit: maximum number of bytes to return; the first response is returned in any case.

        Returns:
            The response frames and the offset behind the last answered request; None if the first request is not in
            the cache.
        """
        if self._cached_at != self._metadata.changes:
            self._clear_cache()
        cached = self._shared
        if cached is None and client.subject is not None:
            cached = self._of_subjects.get(client.subject)
        if client.is_reserved or (client.authentication is not None and client.authentication.is_expired):
            return None
        match = cached.get(received, start, limit) if cached is not None else None
        if match is None:
            return None
        responses, stop, requests, (client.client_id, name) = match
        self._from_memory[name] += requests
        return responses, stop

    def dispatch(self, payload: bytes, client: ConnectedClient) -> Frame | Awaitable[Frame]:
        """Return the response frame to one request, or an awaitable of it.

        Raises:
            InvalidRequest: the request cannot be answered.
        """
        received_at = perf_counter()
        # Before decoding: the objects of a forged count would cost more memory than the request.
        self._check_first_array(payload)
        try:
            request = frame.decode_request(payload, DIALECT)
        except frame.UnsupportedRequest as error:
            client.client_id = error.header.client_id
            return self._reject(payload, str(error))
        except (DecodeError, UnknownMessage) as error:
            return self._reject(payload, f"{_describe(payload)}: {error}")
        message, header = request.message, request.header
        client.client_id = header.client_id
        client.items = self._check_items(message)
        try:
            handle = find_handler(type(message))
        except KeyError:
            raise InvalidRequest(f"{type(message).__name__} is not served") from None
        # Connections beyond the limits exist for operators, who must be able to repair a node that is full.
        if client.is_reserved and not isinstance(message, ADMINISTRATION):
            detail = f"{type(message).__name__} on a connection beyond max.connections or max.connections.per.ip"
            raise InvalidRequest(detail, CloseReason.TOO_MANY_CONNECTIONS)
        subject = client.subject
        if subject is None:
            if client.authentication is None:
                subject = client.subject = Subject(host=client.host)
            else:
                subject = UNKNOWN
                check_before_authentication(message)
        elif client.authentication is not None and client.authentication.is_expired:
            check_expired(message)
        response = handle(
            message, RequestContext(self._node, header.request_api_version, header.client_id, subject, client)
        )
        if not isinstance(response, bytes | Message):
            return self._complete(message, header, client, response, received_at)
        body = response if isinstance(response, bytes) else encode(response, version=header.request_api_version)
        self._from_memory[type(message).__name__] += 1
        # Before authentication, nothing is cached: the key has no principal yet.
        if subject is not UNKNOWN:
            self._cache_response(client, payload, (header.client_id, type(message).__name__), body)
        return _frame(header.correlation_id, body)

    def _check_first_array(self, payload: bytes) -> None:
        """Raise InvalidRequest if the array that begins a request has too many elements, before they are decoded."""
        first = first_arrays().get(payload[:4])
        if first is None or len(payload) < HEADER_BYTES:
            return
        at = HEADER_BYTES + max(0, unpack_from(">h", payload, HEADER_BYTES - 2)[0])
        if at + 4 <= len(payload):
            cls, name = first
            self._check_count(cls, name, unpack_from(">i", payload, at)[0])

    def _check_count(self, cls: type[Message], name: str, count: int) -> None:
        limit = self._node.settings.max_request_items
        if count > limit:
            raise InvalidRequest(f"{cls.__name__} lists {count:,} {name}: at most {limit:,} are allowed")

    def _check_items(self, message: Message) -> int:
        """Return the number of elements in the arrays of a request; 0 for UpdateMetadata.

        Raises:
            InvalidRequest: the request lists too many topics, or too much about its topics.
        """
        cls = type(message)
        if cls is UpdateMetadataRequest:
            return 0
        limit = self._node.settings.max_partitions
        total = 0
        for name, inner_names in array_fields().get(cls, {}).items():
            items = getattr(message, name)
            self._check_count(cls, name, len(items))
            total += len(items)
            for inner_name in inner_names:
                count = sum(len(getattr(item, inner_name)) for item in items)
                if count > limit:
                    listed = f"{cls.__name__} lists {count:,} {inner_name}"
                    raise InvalidRequest(f"{listed}: at most {limit:,} are allowed, as many as partitions of a cluster")
                total += count
        return total

    def _reject(self, payload: bytes, detail: str) -> bytes:
        """Answer an ApiVersions request of an unknown version; raise InvalidRequest for any other request."""
        if len(payload) >= 8:
            # Of a future version, only these three fields of the header are known.
            api_key, version, correlation_id = unpack_from(">hhi", payload)
            if api_key == ApiVersionsRequest.api_key and version not in ApiVersionsRequest.versions:
                self._metrics.errors["ApiVersionsRequest", ErrorCode.UNSUPPORTED_VERSION] += 1
                response = api_versions.unsupported_version()
                return frame.encode_response(response, version=0, correlation_id=correlation_id)
        raise InvalidRequest(detail)

    async def _complete(
        self,
        request: Message,
        header: RequestHeader,
        client: ConnectedClient,
        response: Awaitable[Response],
        received_at: float,
    ) -> Frame:
        """Wait for the response of a handler, and log and measure the request."""
        started = perf_counter()
        name = type(request).__name__
        with bound(
            peer=client.address,
            principal=client.subject.principal if client.subject is not None else ANONYMOUS,
            client_id=header.client_id,
            correlation_id=header.correlation_id,
            request=name,
        ):
            try:
                await TimeSlice(received_at).step()  # decoding a long request takes longer than a slice
                answer = await response
                encoding = TimeSlice()
                encoded = self._encode(name, header, answer)
                await encoding.step()
            except InvalidRequest:
                raise
            except Exception as error:
                self._metrics.faults += 1
                log.exception("request failed", exc_info=error)
                raise InvalidRequest(f"{type(error).__name__} while answering", CloseReason.REQUEST_FAILED) from error
            if client.authentication is not None and client.authentication.failure is not None:
                raise InvalidRequest(client.authentication.failure, CloseReason.AUTHENTICATION_FAILED, encoded)
            seconds = perf_counter() - started
            size = len(encoded) if isinstance(encoded, bytes) else sum(map(len, encoded))
            log.info("request completed", milliseconds=round(seconds * 1000, 1), bytes=size)
        self._metrics.observe_duration(name, seconds)
        return encoded

    def _encode(self, request_name: str, header: RequestHeader, response: Response) -> Frame:
        if isinstance(response, bytes):
            return _frame(header.correlation_id, response)
        self._count_errors(request_name, response)
        return frame.encode_response(response, version=header.request_api_version, correlation_id=header.correlation_id)

    def _count_errors(self, request_name: str, response: Any) -> None:
        for part in (response, *getattr(response, "topics", ()), *getattr(response, "results", ())):
            code = getattr(part, "error_code", 0)
            if code:
                self._metrics.errors[request_name, code] += 1

    def _cache_response(
        self, client: ConnectedClient, payload: bytes, label: tuple[str | None, str], body: bytes
    ) -> None:
        if len(body) > MAX_CACHED_BODY:
            return
        if self._cached_count >= MAX_CACHED_RESPONSES or self._cached_at != self._metadata.changes:
            self._clear_cache()
        self._cached_count += 1
        self._cache_of(client).insert(payload, body, label)

    def _cache_of(self, client: ConnectedClient) -> _kwire.ResponseCache:
        if self._shared is not None:
            return self._shared
        assert client.subject is not None, "only a known subject gets responses"
        responses = self._of_subjects.get(client.subject)
        if responses is None:
            responses = self._of_subjects[client.subject] = _kwire.ResponseCache()
        return responses

    def _clear_cache(self) -> None:
        if self._shared is not None:
            self._shared.clear()
        self._of_subjects.clear()
        self._cached_count = 0
        self._cached_at = self._metadata.changes


@cache
def first_arrays() -> Mapping[bytes, tuple[type[Message], str]]:
    """Return the served requests that begin with an array with a count of four bytes.

    Returns:
        The class and the name of the array, by the first bytes of a request: its key and version.
    """
    arrays = {}
    for cls in served_requests():
        first = next(iter(introspect.fields(cls)), None)
        if first is None or not isinstance(first.type, ArrayType) or cls is UpdateMetadataRequest:
            continue
        facts = introspect.describe(cls)
        for version in facts.versions:
            if first.since <= version and not facts.is_flexible(version):
                arrays[pack(">hh", cls.api_key, version)] = (cls, first.name)
    return arrays


@cache
def array_fields() -> Mapping[type[Message], Mapping[str, tuple[str, ...]]]:
    """Return the array fields of each request that is served, with the array fields of their elements."""
    return {
        cls: {
            name: tuple(_array_fields(element.struct)) if isinstance(element, StructType) else ()
            for name, element in _array_fields(cls).items()
        }
        for cls in served_requests()
    }


def _array_fields(cls: type[declare.Struct]) -> Mapping[str, WireType]:
    return {field.name: field.type.element for field in introspect.fields(cls) if isinstance(field.type, ArrayType)}


def check_before_authentication(message: Message) -> None:
    """Raise InvalidRequest for a request that a client must not send before it is authenticated."""
    if not isinstance(message, BEFORE_AUTHENTICATION):
        raise InvalidRequest(f"{type(message).__name__} before authentication", CloseReason.UNAUTHENTICATED)


def check_expired(message: Message) -> None:
    """Raise InvalidRequest for a request that a client must not send before it has authenticated again."""
    if not isinstance(message, SaslHandshakeRequest | SaslAuthenticateRequest):
        detail = f"{type(message).__name__} after the session has ended: authenticate again (KIP-368)"
        raise InvalidRequest(detail, CloseReason.SESSION_ENDED)


def _frame(correlation_id: int, body: bytes) -> Frame:
    """Return the frame of a response with header version 0."""
    head = size_and_correlation_id(len(body) + 4, correlation_id)
    if len(body) < MIN_SPLIT_BODY:
        return head + body
    return head + body[:FIRST_PART], memoryview(body)[FIRST_PART:]


def _describe(payload: bytes) -> str:
    """Describe a request that cannot be decoded."""
    if len(payload) < 8:
        return f"request of {len(payload)} bytes"
    api_key, version, correlation_id = unpack_from(">hhi", payload)
    return f"request with key {api_key}, version {version}, correlation id {correlation_id}"
