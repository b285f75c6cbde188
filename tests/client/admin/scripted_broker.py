"""A broker that responds as a test says: a function returns the response to each request."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kwire import frame
from kwire.messages import every
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from tests.stream_server import stream_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from kwire.declare import Message
    from kwire.protocol.negotiated_versions import Dialect


class LoseResponse(Exception):
    """Close the connection instead of responding."""


class KeepSilent(Exception):
    """Keep the connection open and never respond."""


class ScriptedBroker:
    """A broker on a free port.

    Attributes:
        received: all requests in the order of their arrival, without ApiVersions.
    """

    def __init__(self, dialect: Dialect, respond: Callable[[Any], Message], highest: Mapping[int, int]) -> None:
        self.dialect = dialect
        self.highest = highest
        self.port = 0
        self.received: list[Message] = []
        self._respond = respond

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                payload = await reader.readexactly(size)
                try:
                    request = frame.decode_request(payload, dialect=self.dialect)
                except frame.UnsupportedRequest as unsupported:  # a newer ApiVersions; the client tries again with 0
                    header = unsupported.header
                    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=())
                    writer.write(frame.encode_response(refusal, version=0, correlation_id=header.correlation_id))
                    continue
                if request.message.api_key == ApiVersionsRequest.api_key:
                    response: Message = self._api_versions()
                else:
                    self.received.append(request.message)
                    response = self._respond(request.message)
                writer.write(
                    frame.encode_response(
                        response,
                        version=request.header.request_api_version,
                        correlation_id=request.header.correlation_id,
                    )
                )
                await writer.drain()
        except KeepSilent:
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError, LoseResponse):
            pass
        writer.close()

    def _api_versions(self) -> ApiVersionsResponse:
        ranges: dict[int, tuple[int, int]] = {}
        for cls in every(self.dialect):
            if cls.__kwire_response__ is not None:
                lowest, highest = ranges.get(cls.api_key, (cls.versions.lowest, cls.versions.highest))
                ranges[cls.api_key] = (min(lowest, cls.versions.lowest), max(highest, cls.versions.highest))
        return ApiVersionsResponse(
            error_code=0,
            api_keys=tuple(
                ApiVersion(api_key=key, min_version=a, max_version=self.highest.get(key, b))
                for key, (a, b) in ranges.items()
            ),
        )


@asynccontextmanager
async def scripted_broker(
    dialect: Dialect, respond: Callable[[Any], Message], highest: Mapping[int, int] | None = None
) -> AsyncIterator[ScriptedBroker]:
    """Run a broker.

    Args:
        respond: returns the response to a request, or raises LoseResponse or KeepSilent.
        highest: the highest version by API key, for brokers that lack newer ones.
    """
    broker = ScriptedBroker(dialect, respond, highest or {})
    async with stream_server(broker.serve) as broker.port:
        yield broker
