"""The operations that differ between Kafka and the drafts of KIP-4.

The functions that document the operations, such as `acls.create_acls`, get an `AdminSession`. They send a request that
is the same in both dialects with its router, and call its backend for all others.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypeAlias

    from kwire.client.admin.acl_values import AclBinding, AclBindingFilter
    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.config_values import (
        ConfigChange,
        ConfigResource,
        ConfigResourceType,
        ConfigValue,
        RecordedChange,
    )
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.feature_values import FeatureUpdate, SafeLevel
    from kwire.client.admin.scram_values import (
        ScramCredentialInfo,
        ScramMechanismName,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from kwire.client.admin.topic_changes import NewTopic, TopicChange
    from kwire.client.admin.values import (
        EligibleLeaders,
        Outcomes,
        ReassignmentStatus,
        ToolResult,
        TopicDescription,
        TopicListing,
    )
    from kwire.declare import Request
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

    AclDeletions: TypeAlias = dict[AclBindingFilter, dict[AclBinding, AdminError | None] | AdminError]
    ResourceConfigs: TypeAlias = dict[ConfigResource, dict[str, ConfigValue] | AdminError]
    StoredConfigs: TypeAlias = dict[ConfigResource, dict[str, str | None]]
    ScramUsers: TypeAlias = dict[str, tuple[ScramCredentialInfo, ...] | AdminError]
    Targets: TypeAlias = Mapping[str, Mapping[int, Sequence[int]]]
    TopicListings: TypeAlias = dict[str, TopicListing | AdminError]
    Topics: TypeAlias = dict[str, TopicDescription | AdminError]


class AclBackend(Protocol):
    """ACLs in one dialect."""

    async def describe(self, filter: AclBindingFilter) -> list[AclBinding]: ...

    async def reported(self, broker_id: int) -> frozenset[AclBinding]:
        """Return the ACLs that one broker applies."""
        ...

    async def create(self, acls: tuple[AclBinding, ...]) -> Outcomes: ...

    async def delete(self, filters: tuple[AclBindingFilter, ...], *, validate_only: bool) -> AclDeletions: ...


class ConfigBackend(Protocol):
    """Configs in one dialect."""

    async def describe(
        self, resources: Iterable[ConfigResource], *, documentation: bool, synonyms: bool
    ) -> ResourceConfigs: ...

    async def alter(self, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool) -> Outcomes: ...

    async def export(self, type: ConfigResourceType) -> StoredConfigs: ...

    async def recorded_changes(self, newest: int, topic: str | None) -> list[RecordedChange]: ...


class ScramUserBackend(Protocol):
    """SCRAM credentials in one dialect."""

    async def describe(self, users: tuple[str, ...]) -> ScramUsers: ...

    async def reported(self, broker_id: int) -> Mapping[str, Mapping[ScramMechanismName, int]]:
        """Return the iterations by user and mechanism that one broker applies."""
        ...

    async def alter(
        self,
        upsertions: Iterable[UserScramCredentialUpsertion],
        deletions: Iterable[UserScramCredentialDeletion],
    ) -> Outcomes: ...


class Backend(Protocol):
    """The operations of one dialect. See the methods of `AdminClient` for arguments, results, and errors."""

    dialect: Dialect

    @property
    def acls(self) -> AclBackend: ...

    @property
    def configs(self) -> ConfigBackend: ...

    @property
    def scram_users(self) -> ScramUserBackend: ...

    async def create_topics(self, topics: Mapping[str, NewTopic], *, validate_only: bool) -> Outcomes: ...

    async def alter_topics(self, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes: ...

    async def delete_topics(self, names: tuple[str, ...], *, validate_only: bool = False) -> Outcomes: ...

    async def reassign_partitions(
        self, targets: Targets, *, allow_replication_factor_change: bool = True, validate_only: bool = False
    ) -> Outcomes: ...

    async def cancel_reassignments(
        self, partitions: Mapping[str, Sequence[int]], *, validate_only: bool = False
    ) -> Outcomes: ...

    async def list_reassignments(self, targets: Targets | None) -> list[ReassignmentStatus]: ...

    async def elect_leaders(self, partitions: Mapping[str, Sequence[int]] | None, *, unclean: bool) -> Outcomes: ...

    async def list_topics(self) -> list[str]: ...

    async def topic_listings(self) -> TopicListings: ...

    async def list_topics_marked_for_deletion(self) -> list[str]: ...

    async def describe_topics(self, names: tuple[str, ...], *, configs: bool) -> Topics: ...

    async def with_lag(self, topics: Topics) -> Topics:
        """Return topics with the lag of each replica."""
        ...

    async def topics_at(self, broker: Endpoint, names: tuple[str, ...], *, configs: bool) -> Topics:
        """Return topics as one broker reports them. Raises ConnectionFault."""
        ...

    async def eligible_leaders(self, topics: tuple[str, ...], page: int) -> dict[str, dict[int, EligibleLeaders]]: ...

    def features_request(self) -> Request[Any]:
        """Return a request for the features as they are now; the features that a connection knows are as old as it."""
        ...

    async def update_features(self, updates: tuple[FeatureUpdate, ...], *, validate_only: bool) -> Outcomes: ...

    async def lowest_safe_level(self, name: str, level: int) -> SafeLevel: ...

    async def run_tool(
        self,
        name: str,
        arguments: tuple[str, ...],
        broker_id: int | None,
        *,
        reads: bool = False,
        repeatable: bool = False,
    ) -> ToolResult:
        """Run a tool. If it changes nothing (`reads`) or is `repeatable`, it is repeated after a lost response."""
        ...


class AdminSession:
    """A cluster to administer: the router to its brokers, and the backend of its dialect."""

    def __init__(self, router: ClusterRouter, backend: Backend) -> None:
        self.router = router
        self.backend = backend

    @property
    def dialect(self) -> Dialect:
        """`kafka`, or `kip4` for the drafts."""
        return self.backend.dialect


def strings_tuple(strings: Iterable[str]) -> tuple[str, ...]:
    """Return strings as a tuple. A single string is a TypeError: iterating it would name other topics."""
    if isinstance(strings, str):
        raise TypeError(f"expected several strings, not one: write [{strings!r}]")
    return tuple(strings)
