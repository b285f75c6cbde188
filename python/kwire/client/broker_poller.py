"""Poll one broker at its own pace.

- A failure of a connection becomes a poll with an error. Only errors of the caller are raised.
- While the broker does not respond, it gets Metadata requests only, so that a failure is reported once and not once a
  request.
- A broker that is not asked for topics (`topics="one"`) gets Metadata requests only if it is not known to respond.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from time import perf_counter_ns

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple, cast
from kwire.client.connection_pool import PooledConnection
from kwire.client.poll import Poll
from kwire.client.polled_requests import HIGHEST_VERSIONS, as_sequence
from kwire.declare.introspect import fields
from kwire.errors import DecodeError, EncodeError
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.metadata.requested_topics import requests_all_topics
from kwire.metadata.response_tracker import ResponseTracker
from kwire.protocol import ConnectionFault, InvalidResponse, NoCommonVersion, WrongBroker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kwire.client.connection import Connection, TimedResponse
    from kwire.client.polled_requests import PolledRequest, RequestSequence
    from kwire.client.poller_options import PollerContext
    from kwire.declare import Message, Request
    from kwire.protocol import Endpoint

METADATA = MetadataRequest.api_key
CLUSTER_METADATA = ClusterMetadataRequest.api_key
UNKNOWN_BROKER = -1
"""The id of an address that no response lists, such as a load balancer."""
RELEASED_BEFORE_S = 5.0
"""Pause of a connection in seconds before which its buffer is released. Chosen: it is filled again within a moment."""
HEARTBEAT_INTERVALS = 1.5
"""Age of the last response to a further request, in intervals, from which on Metadata checks whether a broker responds.
Chosen: above 1, since responses to requests of the same interval differ in latency."""


class _Attempt(NamedTuple):
    """A request to the broker, as far as it came. `connection` and `request` are None if it failed before."""

    endpoint: Endpoint
    started: int
    connection: Connection | None = None
    request: Request[Any] | None = None
    version: int = -1


class BrokerPoller:
    """Polls one broker.

    Attributes:
        broker_id: the id of the broker.
        tracker: its Metadata responses.
        responds: True if its last Metadata poll succeeded.
        has_responded: True after its first response.
        cluster_id: the cluster id of its last response that has one.
    """

    def __init__(self, context: PollerContext, broker_id: int, endpoint: Endpoint, tracker: ResponseTracker) -> None:
        self.broker_id = broker_id
        self.tracker = tracker
        self._trackers = [tracker]
        self.responds = True
        self.has_responded = False
        self.cluster_id: str | None = None
        self._context = context
        self._connection = self._new_connection(endpoint)
        self._connections = [self._connection]
        self._wake = asyncio.Event()
        self._doubt = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._has_metadata = context.has_topics if context.options.topics == "one" else asyncio.Event()
        self._identified: Connection | None = None
        self._last_response = _now()
        self._further_response = -math.inf
        self._checked: object = None
        """The brokers of the last response in which the polled broker was not contradicted."""

    def _new_connection(self, endpoint: Endpoint) -> PooledConnection:
        options = self._context.options
        return PooledConnection(
            endpoint,
            client_id=options.client_id,
            timeout=options.timeout,
            max_size=options.max_size,
            config=options.connection,
        )

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint of the next connection."""
        return self._connection.endpoint

    @endpoint.setter
    def endpoint(self, endpoint: Endpoint) -> None:
        for connection in self._connections:
            connection.endpoint = endpoint

    def seconds_since_response(self) -> float:
        """Return the seconds since the last response, or since this object was created."""
        return _now() - self._last_response

    @property
    def certificate_expiry(self) -> float | None:
        """The end of the broker's certificate in seconds since 1970; None without TLS or a connection."""
        return self._connection.certificate_expiry

    def wake(self) -> None:
        """End the pause after a failure."""
        self._wake.set()

    async def close(self) -> None:
        """Cancel tasks and close connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections:
            await connection.close()

    async def list_brokers(self) -> Poll[Any]:
        """Request the brokers of the cluster, without topics."""
        return await self._poll(self._connection, ResponseTracker(), brokers_only=True)

    async def polls(self) -> AsyncGenerator[Poll[Any], None]:
        """Yield Metadata polls forever. The next request is sent after the last poll was taken."""
        context = self._context
        due = _now()
        jitter = context.random.uniform(0.5, 1.0)  # once, so that brokers do not respond all at the same time
        failures = 0
        listing_tracker = ResponseTracker()
        while True:
            self._doubt.clear()
            if self._asks_for_topics():
                poll = await self._poll(self._connection, self.tracker)
            elif _now() - self._further_response < HEARTBEAT_INTERVALS * context.options.interval:
                # Metadata without topics would only show that the broker responds.
                self._raise_errors()
                due = await self._sleep(self._next(due, context.options.interval))
                continue
            else:  # its changes would repeat the events of the broker with the topics
                poll = await self._poll(self._connection, listing_tracker, brokers_only=True)
                poll = poll._replace(events=(), changed=None)
            self.responds = poll.error is None
            failures = 0 if self.responds else failures + 1
            if self.responds:
                self._last_response = _now()
                self._start_further_requests()
            if self.tracker.agreed is not None:
                self._has_metadata.set()
            self._raise_errors()
            yield poll
            if failures:
                await self._pause(context.pause(failures))
                due = _now()
            else:
                due, jitter = await self._sleep(self._next(due, context.options.interval * jitter)), 1.0

    def _start_further_requests(self) -> None:
        """Start them after the first response, so that a listed broker that does not exist needs one task only."""
        if not self.has_responded:
            self.has_responded = True
            for request in self._context.options.requests:
                self._tasks.append(asyncio.get_running_loop().create_task(self._send_periodically(request)))

    def _asks_for_topics(self) -> bool:
        context = self._context
        options = context.options
        return options.topics == "all" or options.brokers == "one" or context.sends_for_all(self.broker_id)

    def _next(self, due: float, interval: float) -> float:
        """Return when to send the next request: after the interval, or now if that time has passed."""
        now = _now()
        if due + interval >= now:
            return due + interval
        self._context.statistics.late += 1
        return now

    async def _sleep(self, due: float) -> float:
        """Sleep until a time and return it; or until a further request fails, and return that time.

        A single API can be slow. Whether the broker responds at all is known sooner if it is asked at once.
        """
        if due - _now() > RELEASED_BEFORE_S:
            self._connection.release_buffer()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._doubt.wait()
        return min(due, _now())

    async def _pause(self, seconds: float) -> None:
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    def _raise_errors(self) -> None:
        """Raise the error of a task that has ended: it is the caller's, such as one of a request factory."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def _send_periodically(self, polled: PolledRequest) -> None:
        """Send a further request forever."""
        connection = self._connection
        if polled.separate_connection:
            connection = self._new_connection(self.endpoint)
            self._connections.append(connection)
        trackers: dict[tuple[int, int], ResponseTracker] = {}
        await self._has_metadata.wait()
        due = _now()
        while True:
            metadata = self.tracker.agreed
            if metadata is not None and self._should_send(polled, connection):
                request = polled.request
                current = request(metadata, self.broker_id) if callable(request) else request
                await self._send_all(connection, trackers, as_sequence(current))
                if not polled.keeps_response:
                    self._trackers = [tracker for tracker in self._trackers if tracker not in trackers.values()]
                    trackers.clear()
            due = self._next(self._context.nearest_round(due, polled.interval), polled.interval)
            if due - _now() > RELEASED_BEFORE_S:
                connection.release_buffer()
            await asyncio.sleep(due - _now())

    async def _send_all(
        self, connection: PooledConnection, trackers: dict[tuple[int, int], ResponseTracker], requests: RequestSequence
    ) -> None:
        """Send the requests of a sequence until one of them fails.

        A response is compared with the last one to the request at the same place, counted by API key.
        """
        places: Counter[int] = Counter()
        with closing(requests):
            request = next(requests, None)
            while request is not None:
                place = request.api_key, places[request.api_key]
                places[request.api_key] += 1
                tracker = trackers.get(place)
                if tracker is None:
                    tracker = trackers[place] = ResponseTracker()
                    self._trackers.append(tracker)
                poll = await self._poll(connection, tracker, request)
                await self._context.deliver(poll)
                self._note_response(poll, connection)
                if poll.message is None:
                    return
                try:
                    request = requests.send(poll.message)
                except StopIteration:
                    return

    def _note_response(self, poll: Poll[Any], connection: PooledConnection) -> None:
        """Note whether the broker responds to further requests; after a failure, a Metadata request finds out."""
        if isinstance(poll.error, NoCommonVersion):
            return
        if poll.error is not None:
            self._further_response = -math.inf
            self._doubt.set()
        elif connection is self._connection:
            self._further_response = self._last_response = _now()

    def _should_send(self, polled: PolledRequest, connection: PooledConnection) -> bool:
        if not (self.responds and (polled.separate_connection or connection.is_open)):
            return False
        return polled.brokers == "all" or self._context.sends_for_all(self.broker_id)

    async def _poll(
        self,
        pooled: PooledConnection,
        tracker: ResponseTracker,
        request: Request[Any] | None = None,
        *,
        brokers_only: bool = False,
    ) -> Poll[Any]:
        """Send a request, by default for metadata, and return its result."""
        attempt = _Attempt(pooled.endpoint, perf_counter_ns(), request=request)

        async def send(connection: Connection) -> tuple[Connection, TimedResponse[Any]]:
            nonlocal attempt
            attempt = attempt._replace(endpoint=connection.endpoint, connection=connection)
            await self._look_up_cluster_id(connection)
            sent = request or _metadata_request(connection, brokers_only=brokers_only)
            attempt = attempt._replace(request=sent)
            newest = connection.negotiated.version_of(type(sent))
            attempt = attempt._replace(version=min(newest, HIGHEST_VERSIONS.get(sent.api_key, newest)))
            return connection, await connection.submit(sent, version=attempt.version)

        kind = METADATA if request is None else request.api_key
        try:
            connection, response = await pooled.exchange(send, (kind, brokers_only))
        except (ConnectionFault, EncodeError) as error:  # the version of this broker may lack a field that is set
            return self._failed_poll(error, tracker, attempt)
        return self._successful_poll(response, connection, tracker)

    async def _look_up_cluster_id(self, connection: Connection) -> None:
        """Request the cluster id once for each connection to a node, because TopicMetadata of the drafts lacks it.

        Raises:
            ConnectionFault: the node does not respond.
        """
        negotiated = connection.negotiated
        if negotiated.dialect != "kip4" or connection is self._identified:
            return
        self._identified = connection
        if CLUSTER_METADATA in negotiated.versions and negotiated.version_of(ClusterMetadataRequest) >= 1:
            response = await connection.send(ClusterMetadataRequest())
            self._context.cluster_id = response.cluster_id or self._context.cluster_id

    def _check_identity(self, endpoint: Endpoint, message: Any) -> None:
        """Check that the polled broker has sent a response. Only what a response says is evidence, not what it lacks.

        Raises:
            WrongBroker: the response lists another broker at the address, or other brokers know the cluster by another
                id.
        """
        cluster_id = getattr(message, "cluster_id", None)
        brokers = getattr(message, "brokers", ())
        is_known = self.broker_id != UNKNOWN_BROKER
        if is_known and brokers is not self._checked:  # the decoder returns the same tuple while nothing has changed
            listed = _brokers_at(endpoint, message)
            if listed and self.broker_id not in listed:
                raise WrongBroker(endpoint, self.broker_id, listed)
            self._checked = brokers
        if is_known and cluster_id is not None and self._context.is_foreign(self.broker_id, cluster_id):
            raise WrongBroker(endpoint, self.broker_id, (), cluster_id)

    def _failed_poll(
        self, error: ConnectionFault | EncodeError, tracker: ResponseTracker, attempt: _Attempt
    ) -> Poll[Any]:
        connection, request = attempt.connection, attempt.request
        dialect = self._context.options.connection.dialect if connection is None else connection.negotiated.dialect
        payload = request_payload = None
        # Keep an invalid response, unless it belongs to the negotiation of versions.
        if isinstance(error, InvalidResponse) and connection is not None:
            payload, request_payload = error.payload, error.request
            tracker.invalid_response()
        api_key = METADATA if request is None else request.api_key
        if payload is None:
            for other in self._trackers:
                other.no_response(api_key)
        polled_at, clock_step_us = self._context.clock.read()
        return Poll(
            cluster_id=self._context.cluster_id,
            broker_id=self.broker_id,
            endpoint=str(attempt.endpoint),
            polled_at=polled_at,
            duration_us=(perf_counter_ns() - attempt.started) // 1000,
            error=error,
            payload=payload,
            dialect=dialect or "kafka",
            api_key=api_key,
            api_version=attempt.version,
            request=request_payload,
            clock_step_us=clock_step_us,
        )

    def _successful_poll(
        self, timed: TimedResponse[Any], connection: Connection, tracker: ResponseTracker
    ) -> Poll[Any]:
        response, negotiated = timed.response, connection.negotiated
        sent = response.sent
        polled_at, clock_step_us = self._context.clock.read(timed.at)
        poll: Poll[Any] = Poll(
            cluster_id=self._context.cluster_id,
            broker_id=self.broker_id,
            endpoint=str(connection.endpoint),
            polled_at=polled_at,
            duration_us=timed.duration_us,
            payload=response.payload,
            dialect=negotiated.dialect,
            api_key=sent.request.api_key,
            api_version=sent.version,
            request=sent.payload,
            clock_step_us=clock_step_us,
        )
        try:
            # The tracker decodes: a response with the same bytes as the last one costs a comparison.
            tracked = tracker.apply(
                sent.response,
                response.body,
                version=sent.version,
                at=polled_at,
                kraft=negotiated.kraft,
                all_topics=requests_all_topics(sent.request, sent.version),
                check=partial(self._check_identity, connection.endpoint),
            )
        except DecodeError as error:
            fault = response.fault(error)
            connection.fail(fault)
            return poll._replace(error=fault)
        except WrongBroker as fault:
            connection.fail(fault)
            return poll._replace(error=fault)
        if self.broker_id == UNKNOWN_BROKER:
            self.broker_id = next(iter(_brokers_at(connection.endpoint, tracked.message)), UNKNOWN_BROKER)
        cluster_id = getattr(tracked.message, "cluster_id", None)
        if cluster_id is not None:
            self.cluster_id = self._context.cluster_id = cluster_id
        return poll._replace(
            cluster_id=self._context.cluster_id,
            broker_id=self.broker_id,
            message=tracked.message,
            events=tracked.events,
            changed=tracked.changes,
            same=tracked.same,
            suspect=tracked.suspect,
            controller_id=_controller_id(tracked.message, sent.version),
        )


def _now() -> float:
    """Return the time of the event loop, by which all pauses are measured."""
    return asyncio.get_running_loop().time()


def _controller_id(message: Message, version: int) -> int | None:
    """Return the controller id of a response; None if this version does not have it."""
    has_it = any(field.name == "controller_id" and field.in_version(version) for field in fields(type(message)))
    return cast("Any", message).controller_id if has_it else None


def _brokers_at(endpoint: Endpoint, message: Any) -> tuple[int, ...]:
    """Return the ids of the brokers that a response with metadata lists at an endpoint."""
    return tuple(
        broker.node_id
        for broker in getattr(message, "brokers", ())
        if hasattr(broker, "node_id") and (broker.host, broker.port) == endpoint
    )


def _metadata_request(connection: Connection, *, brokers_only: bool) -> Request[Any]:
    """Return a request for all topics, or for none, in the dialect and version of the broker."""
    negotiated = connection.negotiated
    if negotiated.dialect == "kip4":
        return ClusterMetadataRequest() if brokers_only else TopicMetadataRequest_V1(topic_names=())
    version = negotiated.version_of(MetadataRequest)
    topics = () if brokers_only or version == 0 else None  # in version 0 an empty list means all topics
    if version < 4:  # these versions create no topic for a request that names none
        return MetadataRequest(topics=topics)
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)
