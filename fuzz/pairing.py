"""The check of captured traffic: whatever the bytes are, conversations keep their limits and raise nothing.

An input is a list of chunks: a byte with the direction (its lowest bit is 1 for the client), two bytes of size, and the
bytes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.protocol import Conversation, Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire.protocol import Exchange

BROKER = Endpoint("fuzzed", 9092)
MAX_PENDING = 4
MAX_SIZE = 1 << 16


def chunk(*, from_client: bool, data: bytes) -> bytes:
    """Return bytes of one direction in the form of an input."""
    return bytes([from_client]) + len(data).to_bytes(2, "big") + data


def chunks(content: bytes) -> Iterator[tuple[bool, bytes]]:
    """Yield the direction and the bytes of each chunk of an input."""
    position = 0
    while position + 3 <= len(content):
        size = int.from_bytes(content[position + 1 : position + 3], "big")
        yield bool(content[position] & 1), content[position + 3 : position + 3 + size]
        position += 3 + size


def pair(parts: Iterable[tuple[bool, bytes]]) -> list[Exchange]:
    """Return the exchanges of a conversation, and check its limits."""
    conversation = Conversation(BROKER, max_size=MAX_SIZE, max_pending=MAX_PENDING)
    found = []
    for from_client, part in parts:
        found += (conversation.receive_from_client if from_client else conversation.receive_from_server)(part)
        assert conversation.pending <= MAX_PENDING
        assert max(conversation.partial_bytes) < 4 + MAX_SIZE
    found += conversation.end()
    assert (conversation.pending, conversation.pending_bytes) == (0, 0)
    return found


def check(content: bytes) -> None:
    """Check that chunks make no difference, and that decoding raises only errors of kwire."""
    found = pair(chunks(content))
    assert pair((way, part[at : at + 1]) for way, part in chunks(content) for at in range(len(part))) == found
    for exchange in found:
        assert repr(exchange)
        for decode in (exchange.decode_request, exchange.decode_response):
            with suppress(KwireError):
                decode()
