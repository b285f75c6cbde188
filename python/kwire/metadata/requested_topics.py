"""Requests for metadata that name no topics: only their responses say what topics a cluster has."""

from __future__ import annotations

from functools import lru_cache
from struct import unpack_from

from kwire import frame
from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError

if TYPE_CHECKING:
    from kwire.declare import Message

__all__ = ["payload_requests_all_topics", "requests_all_topics"]


def requests_all_topics(request: Message, version: int) -> bool:
    """Return whether a request does not name topics, so that `EmptyResponseFilter` applies to its responses.

    In version 0 of MetadataRequest an empty list requests all topics, in later versions no topics.
    """
    match type(request).__name__:
        case "MetadataRequest":
            topics = getattr(request, "topics", None)
            return topics is None or (version == 0 and not topics)
        case "TopicMetadataRequest" | "TopicMetadataRequest_V1":
            return not getattr(request, "topic_names", ())
        case _:
            return True


def payload_requests_all_topics(payload: bytes | None, dialect: str) -> bool:
    """Return `requests_all_topics` of an encoded request, from its API key on.

    A request that was not recorded, or cannot be decoded, is assumed to be for all topics.
    """
    if payload is None or len(payload) < 8:
        return True
    return _requests_all_topics(payload[:4] + bytes(4) + payload[8:], dialect)


@lru_cache(maxsize=1000)
def _requests_all_topics(payload: bytes, dialect: str) -> bool:
    """Decode a request with the correlation id 0, so that equal requests have one entry in the cache."""
    try:
        request = frame.decode_request(payload, dialect).message
    except KwireError:
        return True
    return requests_all_topics(request, unpack_from(">h", payload, 2)[0])
