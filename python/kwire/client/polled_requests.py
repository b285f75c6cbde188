"""Requests that a poller sends in addition to Metadata, each at its own interval.

DescribeConfigs is expensive: describing 500 topics keeps a broker busy for most of a second.
"""

from __future__ import annotations

from collections.abc import Generator

from kwire._util.light_typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from kwire.declare import Message, Request

RequestSequence: TypeAlias = "Generator[Request[Any], Any, None]"
"""Requests that follow one another on one connection: each `yield` of a request returns its response. A failed poll
ends the sequence.
"""

RequestFactory: TypeAlias = "Callable[[Message, int], Request[Any] | RequestSequence | None]"
"""Returns a request, or several, for a broker, given its last plausible Metadata response and its id; None to send
nothing now.
"""

HIGHEST_VERSIONS = {1: 12, 9: 9}
"""By API key, the last version that is polled. Later versions of Fetch and OffsetFetch have topic ids instead of
names."""

TOPIC, BROKER = 2, 4
RESOURCES_PER_REQUEST = 100
"""Maximum number of resources in one DescribeConfigs request, of a poller and of an AdminClient. A broker of 3.9 reads
each topic from ZooKeeper: on an overloaded machine, it needed 20 to 60 ms for one, and 1,000 topics in two requests
exceeded the timeout of a request (30 s)."""


class PolledRequest(NamedTuple):
    """A request and how often it is sent.

    Attributes:
        request: a request, or a function that returns one.
        interval: seconds between two requests.
        brokers: `all` polled brokers, or `one` broker that responds.
        separate_connection: True to send it over a connection of its own. A broker processes the requests of one
            connection in order, so that otherwise a slow response delays Metadata.
        keeps_response: False to forget a response before the next one. Each is decoded as the first one, so
            large responses that are rare cost time in place of memory.
    """

    request: Request[Any] | RequestFactory
    interval: float
    brokers: Literal["all", "one"] = "all"
    separate_connection: bool = False
    keeps_response: bool = True


def as_sequence(requested: Request[Any] | RequestSequence | None) -> RequestSequence:
    """Return what a factory has returned as a sequence."""
    if isinstance(requested, Generator):
        yield from requested
    elif requested is not None:
        yield requested


def topic_configs(keys: Sequence[str] | None = None) -> RequestFactory:
    """Return a factory of requests for the configs of all topics that the broker reports, for 100 topics each.

    A topic stays in the same request as long as it exists, so that each response is comparable with the last one.

    Args:
        keys: the names of the configs; None for all.
    """
    configs = None if keys is None else tuple(keys)
    parts_by_broker: dict[int, list[list[str]]] = {}

    def create(metadata: Message, broker_id: int) -> RequestSequence:
        response: Any = metadata
        names = {topic.name for topic in response.topics if topic.name is not None}
        parts = parts_by_broker[broker_id] = stable_parts(parts_by_broker.get(broker_id, []), names)
        for part in parts:
            yield DescribeConfigsRequest(
                resources=tuple(
                    DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=configs)
                    for name in part
                )
            )

    return create


def stable_parts(parts: Sequence[Sequence[str]], names: Collection[str]) -> list[list[str]]:
    """Divide names into parts of at most RESOURCES_PER_REQUEST, each in the order of the names.

    Args:
        parts: the parts of the last time. What they have stays there, as long as it is one of the names.
    """
    kept = [[name for name in part if name in names] for part in parts]
    new = sorted(set(names).difference(*kept))
    for part in kept:
        room = RESOURCES_PER_REQUEST - len(part)
        part.extend(new[:room])
        part.sort()
        del new[:room]
    kept += [new[start : start + RESOURCES_PER_REQUEST] for start in range(0, len(new), RESOURCES_PER_REQUEST)]
    return [part for part in kept if part]


def broker_configs(keys: Sequence[str] | None = None) -> RequestFactory:
    """Return a factory of requests for the configs of the polled broker and the cluster-wide defaults.

    Args:
        keys: the names of the configs; None for all.
    """
    configs = None if keys is None else tuple(keys)

    def create(metadata: Message, broker_id: int) -> Request[Any] | None:
        del metadata
        names = [str(broker_id), ""] if broker_id >= 0 else [""]
        return DescribeConfigsRequest(
            resources=tuple(
                DescribeConfigsResource(resource_type=BROKER, resource_name=name, configuration_keys=configs)
                for name in names
            )
        )

    return create


def log_dirs() -> Request[Any]:
    """Return the request for the log directories of the polled broker with all their replicas."""
    return DescribeLogDirsRequest(topics=None)
