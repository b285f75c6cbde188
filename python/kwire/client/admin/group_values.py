"""Groups, their members, and their offsets."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin.errors import AdminError


class GroupType(StrEnum):
    """The type of a group (KIP-848, KIP-932, KIP-1071)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"
    UNKNOWN = "unknown"
    """A broker before Kafka 3.8 does not report types."""

    @classmethod
    def of(cls, name: str) -> GroupType:
        """Return the type for a name of the protocol."""
        try:
            return cls(name.lower())
        except ValueError:
            return cls.UNKNOWN


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class GroupListing(NamedTuple):
    """A group in a list.

    Attributes:
        group_id: its id.
        type: its type.
        state: such as `Stable` or `Empty`; None if the broker does not report it.
        protocol_type: such as `consumer`; empty for a group that only stores offsets.
        coordinator: the id of the broker that lists it.
    """

    group_id: str
    type: GroupType
    state: str | None
    protocol_type: str
    coordinator: int


class GroupMember(NamedTuple):
    """A member of a group.

    Attributes:
        member_id: its id.
        instance_id: the id of a static member (KIP-345); None for others.
        client_id: the client id of its requests.
        host: its address, as the broker sees it.
        assignment: its partitions by topic; for a streams group, its active tasks by subtopology. None if the bytes of
            the client, which a broker of a classic group does not check, are not an assignment.
        epoch: its epoch; None in a classic group.
        rack: its rack; None if it has none.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: Mapping[str, tuple[int, ...]] | None
    epoch: int | None = None
    rack: str | None = None


class GroupDescription(NamedTuple):
    """A group with its members.

    Attributes:
        group_id: its id.
        type: its type.
        state: such as `Stable`.
        coordinator: the id of the broker that coordinates it.
        assignor: the strategy by which partitions are assigned; empty if the group has no members.
        members: its members.
        epoch: its epoch; None for a classic group.
        source_topics: for a streams group, the topics that the tasks of a subtopology read, by subtopology.
    """

    group_id: str
    type: GroupType
    state: str
    coordinator: int
    assignor: str
    members: tuple[GroupMember, ...]
    epoch: int | None = None
    source_topics: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @property
    def owners(self) -> dict[TopicPartition, GroupMember]:
        """The members by assigned partition, whether or not they have committed an offset there."""
        return {
            TopicPartition(topic, index): member
            for member in self.members
            for name, indexes in (member.assignment or {}).items()
            for topic in (self.source_topics.get(name, ()) if self.type is GroupType.STREAMS else (name,))
            for index in indexes
        }


class CommittedOffset(NamedTuple):
    """A committed offset.

    Attributes:
        offset: the offset of the next message.
        leader_epoch: the leader epoch of the last message; None if it is not known.
        metadata: a text of the client.
        lag: the messages after the offset, if the broker reports them (share groups since Kafka 4.2); None otherwise.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
    lag: int | None = None


class OffsetSpec(NamedTuple):
    """Offset of a partition to look up: `EARLIEST`, `LATEST`, `MAX_TIMESTAMP`, or the first one from a time on.

    Attributes:
        timestamp_ms: milliseconds since 1970, or a special value below 0 of the protocol.
    """

    timestamp_ms: int


class PartitionOffset(NamedTuple):
    """An offset that was looked up.

    Attributes:
        offset: the offset; None if no message has the time.
        timestamp_ms: the time of the message; None for the earliest and the latest offset.
        leader_epoch: the leader epoch; None if it is not known.
    """

    offset: int | None
    timestamp_ms: int | None
    leader_epoch: int | None


class PartitionLag(NamedTuple):
    """Lag of a group in a partition.

    Attributes:
        topic: the topic.
        partition: the partition.
        committed: the committed offset; None if there is none.
        end: the end of the log; None if its leader did not report it, see `error`.
        lag: the messages between; None if one of both is not known.
        error: the reason why the end of the log is not known; None if it is.
        member: the member to which the partition is assigned; None if there is none, or it is not known.
    """

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    error: AdminError | None = None
    member: GroupMember | None = None


class GroupLag(NamedTuple):
    """Lag of a group in all its partitions.

    Attributes:
        group_id: the group.
        partitions: the partitions with committed offsets, and the partitions that are assigned to members.
        error: the reason why the assignments are not known, so that partitions without a commit are missing.
    """

    group_id: str
    partitions: tuple[PartitionLag, ...]
    error: AdminError | None = None

    @property
    def total(self) -> int | None:
        """The sum of all lags; None if one of them is not known."""
        lags = [partition.lag for partition in self.partitions]
        return None if None in lags else sum(lag for lag in lags if lag is not None)


EARLIEST = OffsetSpec(-2)
"""The first offset of the log."""
LATEST = OffsetSpec(-1)
"""The end of the log: the offset of the next message."""
MAX_TIMESTAMP = OffsetSpec(-3)
"""The message with the largest timestamp (KIP-734)."""
NAMED_TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
"""Special values of a time, which Kafka's tools accept by name and by number."""
