"""Helpers that send KIP-4 requests to a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire import codec
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.structures import ConfigEntry
from tests.cluster.controller.clusters import Cluster
from tests.cluster.node.handling import handle

if TYPE_CHECKING:
    from kwire.declare import Message


async def send(cluster: Cluster, message: Message, version: int, client_id: str | None = "test") -> Any:
    """Send a request and return its response, which must be encodable in the version of the request."""
    response = await handle(message, version, cluster.active, client_id)
    assert codec.decode(type(response), codec.encode(response, version=version), version=version) == response
    return response


async def batch(cluster: Cluster, message: Message, client_id: str | None = "test") -> dict[str, int]:
    version = 2 if type(message).api_key < 1000 else 0
    response = await send(cluster, message, version, client_id)
    return {str(getattr(one, "topic_name", getattr(one, "topic", ""))): one.error_code for one in response.topics}


def entry(key: str, value: str) -> ConfigEntry:
    return ConfigEntry(config_key=key, config_value=value)


async def create(cluster: Cluster, *topics: TopicCreation, client_id: str | None = "test") -> dict[str, int]:
    return await batch(cluster, CreateTopicRequest_V2(topics=topics), client_id)


async def alter(cluster: Cluster, *topics: TopicAlteration) -> dict[str, int]:
    codes = await batch(cluster, AlterTopicRequest_V2(topics=topics))
    await cluster.wait_idle()
    return codes


def alteration(name: str = "t", **fields: Any) -> TopicAlteration:
    return TopicAlteration(topic_name=name, **fields)
