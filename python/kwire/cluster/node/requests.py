"""From a request's bytes to its answer's: which message it is, and who answers it.

Rules of this file.

* One table says who answers what. What a node tells in ApiVersions is that table, so nothing is told and not served.
* What the node knows by itself is answered at once, out of bytes kept ready; commands wait for the admin backend, tools
  for their worker. The listener keeps the order.
* Clients send the same bytes again and again, but for the correlation id. A small answer out of memory is known by its
  request's other bytes until the next change of the metadata: the engine answers a run of such requests without Python
  looking at each. What is known is bounded.
* A request that cannot be read, or that nobody serves, ends its connection with a reason for the log: its answer's
  layout would be a guess. ApiVersions alone is answered in version 0, with error 35.
"""

from __future__ import annotations

from struct import Struct, unpack_from
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from kwire import frame
from kwire._kwire import KnownRequests
from kwire.cluster.controller.handlers import controlled_shutdown
from kwire.cluster.node.listener import Refused
from kwire.cluster.node.logs import bound, logger
from kwire.codec import encode
from kwire.declare.introspect import describe
from kwire.errors import DecodeError
from kwire.messages import UnknownMessage, every
from kwire.messages.kafka.error_codes import ErrorCode as KafkaErrorCode
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip584.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kip584.update_features import UpdateFeaturesRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

    from kwire.cluster.node.listener import Frame, Peer
    from kwire.cluster.node.metadata_cache import MetadataCache
    from kwire.cluster.node.metrics import Metrics
    from kwire.cluster.node.tools import ToolRunner
    from kwire.declare import Message
    from kwire.messages.headers import RequestHeader
    from kwire.messages.kip4.admin import AdminResponse

DIALECT = "kip4"
NOT_SERVED: tuple[type[Message], ...] = (UpdateFeaturesRequest,)
"""Declared, and nothing here answers it: finalized features are not kept yet."""

ABOUT_A_CREATION: Mapping[int, int] = {
    ErrorCode.NO_ERROR: KafkaErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.TOPIC_ALREADY_EXISTS: KafkaErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.INVALID_ARGUMENT_TOPIC_NAME: KafkaErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR: KafkaErrorCode.INVALID_REPLICATION_FACTOR,
}
"""What Kafka says of a topic that TopicMetadata should create, by the controller's code; of others, that it is unknown.

A node hears of a topic that it has had created only after the controller has answered.
"""

head = Struct(">ii").pack

KNOWN = 256
"""Requests that are known by their bytes, at most."""
KNOWN_BYTES = 1 << 15
"""The longest answer to one of them; beside a longer one decoding the request costs nothing."""

LARGE = 1 << 18
"""From so many bytes on a body is not copied to put eight bytes before it, but leaves as a part of its own."""

log = logger(__name__)


class Duties(Protocol):
    """What answering takes beyond what the node knows already."""

    @property
    def creates_topics(self) -> bool:
        """Whether TopicMetadata version 0 creates the unknown topics that it names."""

    async def create_topics(self, names: tuple[str, ...]) -> Mapping[str, int]:
        """Have them created, with what the cluster has for defaults; the controller's code for each it has answered."""

    async def take_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Believe a controller, or not."""

    async def let_leave(self, request: AdminRequest) -> AdminResponse:
        """Move leaders away from a node that is about to stop: the controller's work too."""

    async def command(self, request: Message, header: RequestHeader) -> Message:
        """Answer what only the controller may answer, also when this node is not the controller."""


class Requests:
    """Answers the requests of one node. It is what a ``Listener`` calls."""

    def __init__(self, metadata: MetadataCache, metrics: Metrics, tools: ToolRunner, duties: Duties) -> None:
        self._metadata = metadata
        self._metrics = metrics
        self._at_once_counts = metrics.at_once
        self._tools = tools
        self._duties = duties
        self._served = {cls for cls in every(DIALECT) if describe(cls).kind == "request" and cls not in NOT_SERVED}
        self._known = KnownRequests()
        """Labelled with the client id and the message's name."""
        self._known_at = metadata.changes

    def known(self, received: bytes, start: int, at_most: int, peer: Peer) -> tuple[bytes, int, int] | None:
        """Frames of answers to the equal requests that ``received`` has at ``start``, up to ``at_most`` bytes of them,
        with where the last request ends and how many they are; None when the first one has to be read.
        """
        if self._known_at != self._metadata.changes:
            self._forget_known()
        found = self._known.answer(received, start, at_most)
        if found is None:
            return None
        answers, stop, requests, (peer.client_id, name) = found
        self._at_once_counts[name] += requests
        return answers, stop, requests

    def _forget_known(self) -> None:
        self._known.clear()
        self._known_at = self._metadata.changes

    def answer(self, payload: bytes, peer: Peer) -> Frame | Awaitable[Frame]:
        """The frame of the answer to one request, or what to await for it. Raises Refused."""
        try:
            request = frame.decode_request(payload, DIALECT)
        except frame.UnsupportedRequest as error:
            peer.client_id = error.header.client_id
            if error.header.request_api_key == ApiVersionsRequest.api_key:
                return self._unsupported_api_versions(error.header.correlation_id)
            raise Refused(str(error)) from None
        except (DecodeError, UnknownMessage) as error:
            if len(payload) >= 8:
                key, version, correlation_id = unpack_from(">hhi", payload)
                # Of a version that is yet to come not even the header is known, beyond these three.
                if key == ApiVersionsRequest.api_key and version not in ApiVersionsRequest.versions:
                    return self._unsupported_api_versions(correlation_id)
            raise Refused(f"{described(payload)}: {error}") from None
        peer.client_id = request.header.client_id
        message, header = request.message, request.header
        version = header.request_api_version
        if type(message) not in self._served:
            raise Refused(f"{type(message).__name__} is not served here")
        match message:
            case ApiVersionsRequest():
                return self._at_once(payload, header, message, self._api_versions(version))
            case ClusterMetadataRequest():
                return self._at_once(payload, header, message, self._cluster())
            case TopicMetadataRequest_V1():
                return self._at_once(payload, header, message, self._metadata.answer(version, message.topic_names))
            case TopicMetadataRequest():
                names = message.topic_names
                missing = tuple(name for name in names if name not in self._metadata.topics)
                if not missing or not self._duties.creates_topics:
                    return framed(header.correlation_id, self._counted(message, self._metadata.answer(version, names)))
                return self._later(message, header, peer, self._topics_made(header, missing, names))
            case UpdateMetadataRequest():
                return self._later(
                    message, header, peer, self._answered(header, message, self._duties.take_metadata(message))
                )
            case AdminRequest(tool=controlled_shutdown.TOOL):
                return self._later(
                    message, header, peer, self._answered(header, message, self._duties.let_leave(message))
                )
            case AdminRequest():
                running = self._tools.run(message.tool, message.arguments)
                return self._later(message, header, peer, self._answered(header, message, running))
            case _:
                working = self._duties.command(message, header)
                return self._later(message, header, peer, self._answered(header, message, working))

    # Answers out of memory

    def _at_once(self, payload: bytes, header: RequestHeader, message: Message, body: bytes) -> Frame:
        """Also the answer to all requests like this one, until something changes."""
        if len(body) <= KNOWN_BYTES:
            if len(self._known) >= KNOWN or self._known_at != self._metadata.changes:
                self._forget_known()
            self._known.insert(payload, body, (header.client_id, type(message).__name__))
        return framed(header.correlation_id, self._counted(message, body))

    def _counted(self, message: Message, body: bytes) -> bytes:
        self._at_once_counts[type(message).__name__] += 1
        return body

    def _api_versions(self, version: int) -> bytes:
        answer = ApiVersionsResponse(error_code=ErrorCode.NO_ERROR, api_keys=api_keys(self._served))
        return encode(answer, version=version)

    def _unsupported_api_versions(self, correlation_id: int) -> bytes:
        only = {cls for cls in self._served if cls.api_key == ApiVersionsRequest.api_key}
        answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=api_keys(only))
        self._metrics.errors["ApiVersionsRequest", ErrorCode.UNSUPPORTED_VERSION] += 1
        return frame.encode_response(answer, version=0, correlation_id=correlation_id)

    def _cluster(self) -> bytes:
        brokers = self._metadata.brokers
        answer = ClusterMetadataResponse(
            error_code=ErrorCode.NO_ERROR,
            brokers=tuple(brokers.values()),
            controller=brokers.get(self._metadata.controller_id),
        )
        return encode(answer, version=0)

    # Answers that take their time

    async def _topics_made(self, header: RequestHeader, missing: tuple[str, ...], names: Iterable[str]) -> Frame:
        codes = await self._duties.create_topics(missing)
        told = {name: ABOUT_A_CREATION[code] for name, code in codes.items() if code in ABOUT_A_CREATION}
        return framed(header.correlation_id, self._metadata.answer(header.request_api_version, names, told))

    async def _answered(self, header: RequestHeader, request: Message, working: Awaitable[Message]) -> bytes:
        answer = await working
        self._count_codes(request, answer)
        return frame.encode_response(answer, version=header.request_api_version, correlation_id=header.correlation_id)

    async def _later(self, message: Message, header: RequestHeader, peer: Peer, working: Awaitable[Frame]) -> Frame:
        begun = perf_counter()
        name = type(message).__name__
        with bound(peer=peer.address, client_id=header.client_id, correlation_id=header.correlation_id, request=name):
            try:
                answer = await working
            except Exception as error:
                self._metrics.faults += 1
                log.exception("a request failed", exc_info=error)
                raise Refused(f"{type(error).__name__} while answering") from error
            seconds = perf_counter() - begun
            log.info("answered", milliseconds=round(seconds * 1000, 1), bytes=size_of(answer))
        self._metrics.took(name, seconds)
        return answer

    def _count_codes(self, request: Message, answer: Any) -> None:
        name = type(request).__name__
        for part in (answer, *getattr(answer, "topics", ()), *getattr(answer, "results", ())):
            code = getattr(part, "error_code", 0)
            if code:
                self._metrics.errors[name, code] += 1


def framed(correlation_id: int, body: bytes) -> Frame:
    """The frame of an answer with response header 0."""
    start = head(len(body) + 4, correlation_id)
    return start + body if len(body) < LARGE else (start, body)


def size_of(frame: Frame) -> int:
    return len(frame) if isinstance(frame, bytes) else sum(map(len, frame))


def api_keys(served: Iterable[type[Message]]) -> tuple[ApiVersion, ...]:
    """What ApiVersions tells: of each key the versions of all its classes, which follow one another."""
    ranges: dict[int, list[int]] = {}
    for cls in served:
        ranges.setdefault(cls.api_key, []).extend((min(cls.versions), max(cls.versions)))
    return tuple(
        ApiVersion(api_key=key, min_version=min(versions), max_version=max(versions))
        for key, versions in sorted(ranges.items())
    )


def described(payload: bytes) -> str:
    """What a request that cannot be read says of itself."""
    if len(payload) < 8:
        return f"a request of {len(payload)} bytes"
    key, version, correlation_id = unpack_from(">hhi", payload)
    return f"a request with key {key}, version {version}, correlation id {correlation_id}"
