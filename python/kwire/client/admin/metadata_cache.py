"""A cache of the brokers, controller, leaders, and coordinators of a cluster, so that requests need no look-up.

Every Metadata response of the client updates the cache. Entries are dropped when a broker contradicts them or cannot be
reached, and they are not used after `MAX_AGE`.
"""

from __future__ import annotations

from time import monotonic

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from kwire.client.admin.values import BrokerAddress, ClusterDescription
from kwire.decoder import Decoder
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.metadata.requested_topics import requests_all_topics
from kwire.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kwire.declare import Message, Request
    from kwire.messages.kafka.metadata import MetadataResponseTopic
    from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse
    from kwire.protocol.negotiated_versions import Dialect

T = TypeVar("T")

Aged: TypeAlias = tuple[T, float]
"""A value, and when it was received in seconds of the cache's clock. A response can have thousands of them."""
MAX_AGE = 60.0
"""Seconds for which an entry is used. Kafka's clients keep metadata for 300 (`metadata.max.age.ms`)."""
MAX_LISTED_IDS = 10_000
"""Ids of brokers that are remembered before all but those of the last response are forgotten. Chosen, so that a broker
that invents ids does not fill the memory."""


class ClientMetadata:
    """The metadata of one cluster.

    Args:
        clock: returns seconds.

    Attributes:
        brokers: the live brokers by id, as the last response lists them, without brokers that have failed since.
        listed_ids: the ids of all brokers that were listed at any time.
        controller: the controller; None if it has to be looked up.
        features_epoch: the highest epoch of features that a broker has reported; -1 if none has.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.brokers: dict[int, Endpoint] = {}
        self.listed_ids: set[int] = set()
        self.controller: BrokerAddress | None = None
        self.features_epoch = -1
        self._cluster: Aged[ClusterDescription] | None = None
        self._topics: dict[str, Aged[MetadataResponseTopic]] = {}
        self._coordinators: dict[tuple[int, str], Aged[int]] = {}
        self._decoders: dict[Hashable, Decoder[Any]] = {}

    def decoder(self, request: Request[Any], version: int) -> Decoder[Any] | None:
        """Return the decoder for the response to a Metadata request; None for other requests.

        A decoder remembers the last response, so that topics that did not change are the same objects as before.
        Requests for all topics, for some, and for none have decoders of their own: their responses differ.
        """
        if not isinstance(request, MetadataRequest):
            return None
        key = (version, "all" if requests_all_topics(request, version) else "some" if request.topics else "none")
        if key not in self._decoders:
            self._decoders[key] = Decoder(MetadataResponse, version=version)
        return self._decoders[key]

    def update(self, response: Message) -> None:
        """Remember what a response says about the cluster, if it is a response with metadata.

        A restarted broker may list no brokers for a moment, which is ignored.
        """
        if isinstance(response, MetadataResponse):
            cluster = described_by_kafka(response)
            now = self.clock()
            self._topics |= {topic.name: (topic, now) for topic in response.topics if topic.name is not None}
        elif type(response).__name__ == "ClusterMetadataResponse":  # Kafka's clients do not import it
            cluster = described_by_kip4(cast("ClusterMetadataResponse", response))
        else:
            return
        if cluster.brokers:
            self.brokers = {broker.id: Endpoint(broker.host, broker.port) for broker in cluster.brokers}
            if len(self.listed_ids) > MAX_LISTED_IDS:
                self.listed_ids.clear()
            self.listed_ids |= self.brokers.keys()
            self._cluster = cluster, self.clock()
        self.controller = cluster.controller

    # Brokers

    def cluster(self) -> ClusterDescription | None:
        """Return the brokers; None if they have to be looked up."""
        return self._fresh(self._cluster)

    def forget_broker(self, broker_id: int) -> None:
        """Drop a broker that cannot be reached: it may have stopped or moved."""
        self.brokers.pop(broker_id, None)
        self._cluster = None

    # Leaders

    def topic(self, name: str, not_before: float | None = None) -> MetadataResponseTopic | None:
        """Return the partitions of a topic with their leaders; None if they have to be looked up.

        Args:
            not_before: the earliest time of the entry, in seconds of the clock.
        """
        return self._fresh(self._topics.get(name), not_before)

    def forget_topic(self, name: str) -> None:
        """Drop a topic with a partition that has another leader."""
        self._topics.pop(name, None)

    # Coordinators

    def coordinator(self, key_type: int, key: str) -> int | None:
        """Return the id of the coordinator of a group or transactional id; None if it has to be looked up."""
        return self._fresh(self._coordinators.get((key_type, key)))

    def add_coordinator(self, key_type: int, key: str, broker_id: int) -> None:
        """Remember a coordinator."""
        self._coordinators[key_type, key] = broker_id, self.clock()

    def forget_coordinator(self, key_type: int, key: str) -> None:
        """Drop a coordinator that is not responsible any more."""
        self._coordinators.pop((key_type, key), None)

    def _fresh(self, entry: Aged[T] | None, not_before: float | None = None) -> T | None:
        oldest = self.clock() - MAX_AGE
        if not_before is not None:
            oldest = max(oldest, not_before)
        return entry[0] if entry is not None and entry[1] >= oldest else None


def described_by_kafka(response: MetadataResponse) -> ClusterDescription:
    """Return what a response of Kafka says about the cluster."""
    brokers = tuple(BrokerAddress(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers)
    controller = next((broker for broker in brokers if broker.id == response.controller_id), None)
    return ClusterDescription(brokers, controller, response.cluster_id)


def described_by_kip4(response: ClusterMetadataResponse) -> ClusterDescription:
    """Return what a response in the dialect of the KIP-4 drafts says about the cluster."""
    brokers = tuple(BrokerAddress(broker.node_id, broker.host, broker.port) for broker in response.brokers)
    controller = response.controller
    return ClusterDescription(
        brokers,
        None if controller is None else BrokerAddress(controller.node_id, controller.host, controller.port),
        response.cluster_id,
    )


def cluster_request(dialect: Dialect) -> tuple[Request[Any], Callable[[Any], ClusterDescription]]:
    """Return the request for the brokers of a cluster, and the function that describes them from its response."""
    if dialect == "kafka":
        return MetadataRequest(topics=()), described_by_kafka
    from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest

    return ClusterMetadataRequest(), described_by_kip4
