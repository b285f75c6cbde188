"""A cluster to administer, as the functions get it that document the operations, such as `acls.create_acls`.

They send Kafka's requests with its router. Requests in the dialect of the drafts of KIP-4 are in modules of their own,
such as `kip4_security`, which clients of Kafka do not import.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from kwire.client.admin.acl_values import AclBinding, AclBindingFilter
    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.config_values import ConfigResource, ConfigValue
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.scram_values import ScramCredentialInfo
    from kwire.client.admin.values import TopicDescription, TopicListing
    from kwire.protocol.negotiated_versions import Dialect

    AclDeletions: TypeAlias = dict[AclBindingFilter, dict[AclBinding, AdminError | None] | AdminError]
    ResourceConfigs: TypeAlias = dict[ConfigResource, dict[str, ConfigValue] | AdminError]
    StoredConfigs: TypeAlias = dict[ConfigResource, dict[str, str | None]]
    ScramUsers: TypeAlias = dict[str, tuple[ScramCredentialInfo, ...] | AdminError]
    Targets: TypeAlias = Mapping[str, Mapping[int, Sequence[int]]]
    TopicListings: TypeAlias = dict[str, TopicListing | AdminError]
    Topics: TypeAlias = dict[str, TopicDescription | AdminError]


class AdminSession:
    """A cluster to administer.

    Attributes:
        router: finds the brokers of the cluster and sends requests to them.
        dialect: `kafka`, or `kip4` for the drafts.
    """

    def __init__(self, router: ClusterRouter, dialect: Dialect) -> None:
        self.router = router
        self.dialect: Dialect = dialect


def strings_tuple(strings: Iterable[str]) -> tuple[str, ...]:
    """Return strings as a tuple. A single string is a TypeError: iterating it would name other topics."""
    if isinstance(strings, str):
        raise TypeError(f"expected several strings, not one: write [{strings!r}]")
    return tuple(strings)
