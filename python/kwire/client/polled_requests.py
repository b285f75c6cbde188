"""What a poller asks besides Metadata: requests with an interval each.

Rules of this file: what costs a broker much is asked seldom, and of one broker only where one suffices: the settings of
500 topics keep a broker busy for most of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.declare import Message, Request

__all__ = ["PolledRequest", "RequestFactory", "broker_configs", "topic_configs"]

RequestFactory: TypeAlias = "Callable[[Message, int], Request[Any] | None]"
"""Makes a request out of a broker's last answer to Metadata and the broker's id; None for nothing to ask now."""

TOPIC, BROKER = 2, 4


class PolledRequest(NamedTuple):
    """One request and how often. ``interval``: seconds.

    ``request``: a request, or what makes one. ``brokers``: whether every broker that is polled is asked, or at any time
    one that answers. ``apart``: over a connection of its own; otherwise Metadata waits behind a slow answer, since a
    broker answers the requests of one connection one after the other.
    """

    request: Request[Any] | RequestFactory
    interval: float
    brokers: Literal["all", "one"] = "all"
    apart: bool = False


def topic_configs(keys: Sequence[str] | None = None) -> RequestFactory:
    """The settings of all topics that the broker told of; ``keys``: which settings, None for all."""
    wanted = None if keys is None else tuple(keys)

    def make(metadata: Message, broker_id: int) -> Request[Any] | None:
        del broker_id  # every broker knows them
        told: Any = metadata
        names = sorted(topic.name for topic in told.topics if topic.name is not None)
        queries = tuple(
            DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=wanted)
            for name in names
        )
        return DescribeConfigsRequest(resources=queries) if queries else None

    return make


def broker_configs(keys: Sequence[str] | None = None) -> RequestFactory:
    """The settings of the broker that is asked, and those of all brokers; ``keys``: which settings, None for all."""
    wanted = None if keys is None else tuple(keys)

    def make(metadata: Message, broker_id: int) -> Request[Any] | None:
        del metadata
        names = [str(broker_id), ""] if broker_id >= 0 else [""]
        return DescribeConfigsRequest(
            resources=tuple(
                DescribeConfigsResource(resource_type=BROKER, resource_name=name, configuration_keys=wanted)
                for name in names
            )
        )

    return make
