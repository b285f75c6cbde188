"""``BrokerPoller``: asks one broker, at its pace, and makes polls of what comes of it.

Rules of this file: whatever happens to a connection becomes a poll with an error; only mistakes of the caller are
raised. Metadata has one pace, each further request its own, over the same connection unless it wants another; while
there is no connection only Metadata is asked, so that silence is told once and not once a request.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any, cast

from kwire.client.connection_pool import PooledConnection
from kwire.client.poll import Poll
from kwire.declare.introspect import fields
from kwire.errors import DecodeError, EncodeError
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.metadata.response_tracker import ResponseTracker
from kwire.protocol import ConnectionFault, InvalidResponse, NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kwire.client.connection import Arrival, Connection
    from kwire.client.polled_requests import PolledRequest
    from kwire.client.poller import Poller
    from kwire.declare import Message, Request
    from kwire.protocol import Endpoint

__all__ = ["UNKNOWN_BROKER", "BrokerPoller"]

METADATA = MetadataRequest.api_key
UNKNOWN_BROKER = -1
"""Of an address that no answer lists, such as a load balancer's."""


class BrokerPoller:
    """One broker. ``view``: what it told; ``answers``: whether its last poll had no error."""

    def __init__(self, poller: Poller, broker_id: int, endpoint: Endpoint, view: ResponseTracker) -> None:
        self.broker_id = broker_id
        self.view = view
        self.answers = True
        self._poller = poller
        self._link = self._new_link(endpoint)
        self._links = [self._link]
        self._wake = asyncio.Event()
        self._asking: list[asyncio.Task[None]] = []
        self._told = asyncio.Event()
        self._heard_at = monotonic()

    def _new_link(self, endpoint: Endpoint) -> PooledConnection:
        return PooledConnection(endpoint, client_id=self._poller.client_id, timeout=self._poller.timeout)

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens; a new one counts from the next connection on."""
        return self._link.endpoint

    @endpoint.setter
    def endpoint(self, endpoint: Endpoint) -> None:
        for link in self._links:
            link.endpoint = endpoint

    def silent_for(self) -> float:
        """Seconds since its last answer, or since it is watched."""
        return monotonic() - self._heard_at

    def wake(self) -> None:
        """Do not wait any longer after a failure."""
        self._wake.set()

    async def close(self) -> None:
        """End tasks and connections."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        for link in self._links:
            await link.close()

    async def introduce(self) -> Poll:
        """PolledRequest who is there, and nothing about topics."""
        return await self._poll(self._link, ResponseTracker(), introduction=True)

    async def polls(self) -> AsyncGenerator[Poll, None]:
        """Ask for metadata for ever. The next question waits until the last poll was taken."""
        poller = self._poller
        for ask in poller.requests:
            self._asking.append(asyncio.get_running_loop().create_task(self._keep_asking(ask)))
        due = monotonic()
        jitter = poller.random.uniform(0.5, 1.0)  # once, so that brokers do not answer all at the same time
        failures = 0
        while True:
            poll = await self._poll(self._link, self.view)
            self.answers = poll.error is None
            failures = 0 if self.answers else failures + 1
            if self.answers:
                self._heard_at = monotonic()
            if self.view.believed is not None:
                self._told.set()
            self._raise_mistakes()
            yield poll
            if failures:
                await self._sleep(poller.pause(failures))
                due = monotonic()
            else:
                due, jitter = self._next(due, poller.interval * jitter), 1.0
                await asyncio.sleep(due - monotonic())

    def _next(self, due: float, interval: float) -> float:
        """When to ask again: an interval later, or at once when that has passed."""
        now = monotonic()
        if due + interval >= now:
            return due + interval
        self._poller.statistics.late += 1
        return now

    async def _sleep(self, seconds: float) -> None:
        """Until then, or until woken."""
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    def _raise_mistakes(self) -> None:
        """A task for further requests ends only with something that is no fault of a broker."""
        for task in self._asking:
            if task.done():
                task.result()

    async def _keep_asking(self, ask: PolledRequest) -> None:
        """One further request, for ever."""
        link = self._link
        if ask.apart:
            link = self._new_link(self.endpoint)
            self._links.append(link)
        view = ResponseTracker()
        await self._told.wait()
        due = monotonic()
        while True:
            ready = self.answers and (ask.apart or link.is_open)
            metadata = self.view.believed
            if ready and metadata is not None and (ask.brokers == "all" or self._poller.speaks_for_all(self)):
                request = ask.request
                made = request(metadata, self.broker_id) if callable(request) else request
                if made is not None:
                    await self._poller.deliver(await self._poll(link, view, made))
            due = self._next(due, ask.interval)
            await asyncio.sleep(due - monotonic())

    # One question.

    async def _poll(
        self,
        link: PooledConnection,
        view: ResponseTracker,
        request: Request[Any] | None = None,
        *,
        introduction: bool = False,
    ) -> Poll:
        began = perf_counter_ns()
        endpoint = link.endpoint
        connection: Connection | None = None
        version, asked = -1, request
        try:
            connection = await link.get()
            asked = request or _metadata(connection, self._poller.dialect, introduction=introduction)
            version = connection.negotiated.version_of(type(asked))
            arrival = await connection.ask(asked, version=version)
        except (ConnectionFault, EncodeError) as fault:  # this broker's version may lack what the request says
            return self._silence(fault, view, endpoint, connection, asked, version, began)
        return self._read(arrival, connection, view)

    def _silence(
        self,
        fault: ConnectionFault | EncodeError,
        view: ResponseTracker,
        endpoint: Endpoint,
        connection: Connection | None,
        asked: Request[Any] | None,
        version: int,
        began: int,
    ) -> Poll:
        dialect = self._poller.dialect if connection is None else connection.negotiated.dialect
        # What came instead of an answer is kept like one, unless it belongs to the first words of the connection.
        payload = request = None
        if isinstance(fault, InvalidResponse) and connection is not None:
            payload, request = fault.payload, fault.request
            view.was_unreadable()
        return Poll(
            cluster_id=self._poller.cluster_id,
            broker_id=self.broker_id,
            endpoint=str(endpoint),
            polled_at=datetime.now(UTC),
            duration_us=(perf_counter_ns() - began) // 1000,
            error=fault,
            payload=payload,
            dialect=dialect or "kafka",
            api_key=METADATA if asked is None else asked.api_key,
            api_version=version,
            request=request,
        )

    def _read(self, arrival: Arrival[Any], connection: Connection, view: ResponseTracker) -> Poll:
        answer, negotiated = arrival.answer, connection.negotiated
        poll = Poll(
            cluster_id=self._poller.cluster_id,
            broker_id=self.broker_id,
            endpoint=str(connection.endpoint),
            polled_at=arrival.at,
            duration_us=arrival.duration_us,
            payload=answer.payload,
            dialect=negotiated.dialect,
            api_key=answer.sent.request.api_key,
            api_version=answer.sent.version,
            request=answer.sent.payload,
        )
        others = self._poller.others(self) if view is self.view else ()
        try:
            seen = view.take(answer, monotonic(), kraft=negotiated.kraft, others=others)
        except DecodeError as error:
            fault = answer.fault(error)
            connection.fail(fault)
            return poll._replace(error=fault)
        if self.broker_id == UNKNOWN_BROKER:
            self.broker_id = _listed_at(connection.endpoint, seen.message)
        told = getattr(seen.message, "cluster_id", None)
        if told is not None:
            self._poller.cluster_id = told
        return poll._replace(
            cluster_id=self._poller.cluster_id,
            broker_id=self.broker_id,
            message=seen.message,
            events=seen.events,
            changed=seen.changes,
            same=seen.same,
            suspect=seen.suspect,
            controller_id=_controller_id(seen.message, answer.sent.version),
        )


def _controller_id(message: Message, version: int) -> int | None:
    """As the message says; None where that version of it does not."""
    told = any(field.name == "controller_id" and field.in_version(version) for field in fields(type(message)))
    return cast("Any", message).controller_id if told else None


def _listed_at(endpoint: Endpoint, message: Any) -> int:
    """Which broker is listed at the address that was asked."""
    for broker in getattr(message, "brokers", ()):
        if (broker.host, broker.port) == endpoint:
            broker_id: int = broker.node_id
            return broker_id
    return UNKNOWN_BROKER


def _metadata(connection: Connection, dialect: str | None, *, introduction: bool) -> Request[Any]:
    """The question for all topics, or for none, in the words of the broker's dialect and version."""
    negotiated = connection.negotiated
    if dialect is not None and dialect != negotiated.dialect:
        wanted = TopicMetadataRequest_V1 if dialect == "kip4" else MetadataRequest
        theirs = negotiated.versions.get(METADATA)
        raise NoCommonVersion(connection.endpoint, wanted.__name__, str(wanted.versions), theirs)
    if negotiated.dialect == "kip4":
        return ClusterMetadataRequest() if introduction else TopicMetadataRequest_V1(topic_names=())
    version = negotiated.version_of(MetadataRequest)
    topics = () if introduction or version == 0 else None  # in version 0 empty means all
    if version < 4:  # older brokers create no topic for a request that names none
        return MetadataRequest(topics=topics)
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)
