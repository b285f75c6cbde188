"""Declare a message of your own, send it to a server, and decode the response.

    pip install kwire
    python own_message.py

The request and the response have two versions; version 1 adds a field to each and uses the flexible encoding. kwire
needs nothing but the two classes below. The server in this file replaces a broker that implements the message.
"""

from __future__ import annotations

import asyncio
from struct import unpack_from

import kwire
from kwire import frame
from kwire.declare import Message, Request, array, field, int16, int32, nullable, string


class BrewCoffeeRequest(Request["BrewCoffeeResponse"], api_key=418, versions="0-1", flexible="1+"):
    """Orders one cup of each kind."""

    kinds: array[string]
    """Names from the menu; an empty array orders nothing."""
    timeout_ms: int32 = field(since=1, default=60_000, ignorable=True)
    """Timeout of the broker in milliseconds."""


class BrewCoffeeResponse(Message, api_key=418, versions="0-1", flexible="1+"):
    """Reports whether there will be coffee."""

    error_code: int16
    """0 if the coffee is on its way."""
    reason: nullable[string] = field(since=1, default=None)
    """The reason if there will be no coffee; None otherwise."""


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Read a frame and return it without its size prefix."""
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


async def order(host: str, port: int, request: BrewCoffeeRequest, version: int = 1) -> BrewCoffeeResponse:
    """Send a request and return the decoded response."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(frame.encode_request(request, version=version, correlation_id=1, client_id="own-message"))
        response = frame.decode_response(await read_frame(reader), BrewCoffeeResponse, version=version)
    finally:
        writer.close()
    return response.message


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request: there is only espresso."""
    payload = await read_frame(reader)
    _, version, correlation_id, client_id_size = unpack_from(">hhih", payload)
    # The client id ends the header of version 0, and an empty tag section ends the flexible version 1.
    body = payload[10 + max(client_id_size, 0) + version :]
    request = kwire.decode(BrewCoffeeRequest, body, version=version)
    unknown = [kind for kind in request.kinds if kind != "espresso"]
    reason = f"not on the menu: {', '.join(unknown)}" if unknown and version >= 1 else None
    response = BrewCoffeeResponse(error_code=1 if unknown else 0, reason=reason)
    writer.write(frame.encode_response(response, version=version, correlation_id=correlation_id))
    await writer.drain()
    writer.close()


async def main() -> None:
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        for kinds in (("espresso",), ("espresso", "tea")):
            response = await order(host, port, BrewCoffeeRequest(kinds=kinds))
            print(f"{', '.join(kinds)}: {response}")


if __name__ == "__main__":
    asyncio.run(main())
