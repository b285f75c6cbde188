"""The state of a cluster that a document describes, and how it is read from a cluster."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from kwire._util.concurrency import gather
from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple, TypeVar
from kwire.client.admin import AdminError, ConfigResource, ConfigResourceType, ConfigType, NotSupported
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Mapping

    from kwire.client.admin import AclBinding, AdminClient, ClientQuotaEntity, ScramMechanismName

T = TypeVar("T")


class Section(StrEnum):
    """A section of a document, in the order of its application.

    Defaults of brokers come before the topics that inherit them, and limits before the permissions of those they limit.
    """

    BROKERS = "brokers"
    TOPICS = "topics"
    GROUPS = "groups"
    CLIENT_METRICS = "client_metrics"
    QUOTAS = "quotas"
    USERS = "users"
    ACLS = "acls"


CONFIG_SECTIONS = {
    Section.BROKERS: ConfigResourceType.BROKER,
    Section.TOPICS: ConfigResourceType.TOPIC,
    Section.GROUPS: ConfigResourceType.GROUP,
    Section.CLIENT_METRICS: ConfigResourceType.CLIENT_METRICS,
}
"""The type of the resources in the sections with configs."""


class TopicSize(NamedTuple):
    """The size of a topic; None for a number that a document leaves to the cluster."""

    partitions: int | None = None
    replication_factor: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState:
    """The content of a document, or of a cluster.

    Attributes:
        cluster_id: the id of the cluster; None if it is not known.
        sections: the sections that the document has, or that the cluster supports.
        configs: the values that resources store, by name; None for a secret.
        topics: the sizes of topics. Topics of Kafka itself are left out.
        quotas: the quotas that are set.
        acls: the ACLs.
        users: the mechanisms for which users have a SCRAM credential.
    """

    cluster_id: str | None = None
    sections: frozenset[Section] = frozenset()
    configs: Mapping[ConfigResource, Mapping[str, str | None]] = field(default_factory=dict)
    topics: Mapping[str, TopicSize] = field(default_factory=dict)
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    acls: frozenset[AclBinding] = frozenset()
    users: Mapping[str, frozenset[ScramMechanismName]] = field(default_factory=dict)


class ReadState(NamedTuple):
    """The state of a cluster.

    Attributes:
        state: the state.
        unsupported: the reason by section that the cluster does not support.
        is_partial: True if there can be topics that the user cannot see, which brokers leave out of lists.
    """

    state: DocumentState
    unsupported: Mapping[Section, str]
    is_partial: bool = False


async def read_state(admin: AdminClient, sections: Collection[Section] = tuple(Section)) -> ReadState:
    """Read sections of a cluster at the same time.

    Raises:
        AdminError: a part of the cluster cannot be read, so that the state would be incomplete.
    """
    unsupported: dict[Section, str] = {}

    async def read(section: Section, reading: Awaitable[T], empty: T) -> T:
        try:
            return await reading
        except (NotSupported, NoCommonVersion) as error:
            unsupported[section] = str(error)
        except AdminError as error:
            if error.code != ErrorCode.SECURITY_DISABLED:
                raise
            unsupported[section] = error.reason
        return empty

    configs = [
        read(section, admin.export_configs(type), {})
        for section, type in CONFIG_SECTIONS.items()
        if section in sections
    ]
    # A section that the cluster lacks is recorded, and is not an error; one that it refuses to show is.
    stored, cluster, topics, quotas, users, acls = await gather(
        gather(*configs),
        admin.describe_cluster(),
        read(Section.TOPICS, _topics(admin, Section.TOPICS in sections), {}),
        read(Section.QUOTAS, _quotas(admin, Section.QUOTAS in sections), {}),
        read(Section.USERS, _users(admin, Section.USERS in sections), {}),
        read(Section.ACLS, _acls(admin, Section.ACLS in sections), frozenset()),
    )
    state = DocumentState(
        cluster_id=cluster.cluster_id,
        sections=frozenset(sections).difference(unsupported),
        configs={resource: values for section in stored for resource, values in section.items()},
        topics=topics,
        quotas=quotas,
        acls=acls,
        users=users,
    )
    return ReadState(state, unsupported, await _is_partial(admin, Section.TOPICS in sections))


async def _is_partial(admin: AdminClient, wanted: bool) -> bool:
    from kwire_admin.operations.visibility import may_be_incomplete

    return wanted and await may_be_incomplete(admin, "topics")


async def with_canonical_configs(admin: AdminClient, document: DocumentState, current: DocumentState) -> DocumentState:
    """Return a document with the values of its configs as the brokers of a cluster spell them.

    A person may write `.5`, `True`, or `compact, delete`; a broker reports `0.5`, `true`, and `compact,delete`. Only
    the brokers know the types of configs, so they are asked if values differ.

    Args:
        document: the state that the cluster should have.
        current: the state of the cluster.
    """
    differing = {
        resource
        for resource, stated in document.configs.items()
        for name, value in stated.items()
        if value is not None and current.configs.get(resource, {}).get(name) != value
    }
    if not differing or admin.dialect == "kip4":  # nodes store a text as it is
        return document
    types = await _config_types(admin, differing, current)
    return replace(
        document,
        configs={
            resource: {
                name: None if value is None else types.get((resource.type, name), ConfigType.UNKNOWN).canonical(value)
                for name, value in stated.items()
            }
            for resource, stated in document.configs.items()
        },
    )


async def _config_types(
    admin: AdminClient, differing: Collection[ConfigResource], current: DocumentState
) -> dict[tuple[ConfigResourceType, str], ConfigType]:
    """Return the types of the configs of resources. Resources of one type have the same configs: one is asked."""
    representatives: dict[ConfigResourceType, ConfigResource] = {}
    for resource in sorted(differing, reverse=True):
        if resource.type is not ConfigResourceType.TOPIC or resource.name in current.topics:
            representatives[resource.type] = resource
    if any(resource.type is ConfigResourceType.TOPIC for resource in differing) and current.topics:
        representatives.setdefault(
            ConfigResourceType.TOPIC, ConfigResource(ConfigResourceType.TOPIC, min(current.topics))
        )
    if ConfigResourceType.BROKER in representatives:  # the default of all brokers has only what is set
        [first, *_] = (await admin.describe_cluster()).brokers
        representatives[ConfigResourceType.BROKER] = ConfigResource(ConfigResourceType.BROKER, str(first.id))
    described = await admin.describe_configs(representatives.values())
    return {
        (resource.type, name): config.type
        for resource, configs in described.items()
        if not isinstance(configs, AdminError)
        for name, config in configs.items()
    }


async def _topics(admin: AdminClient, wanted: bool) -> dict[str, TopicSize]:
    sizes: dict[str, TopicSize] = {}
    for name, topic in (await admin.describe_topics()).items() if wanted else ():
        if isinstance(topic, AdminError):
            if topic.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue  # deleted since it was listed
            raise topic
        if not topic.is_internal:
            factor = max((len(partition.replicas) for partition in topic.partitions), default=0)
            sizes[name] = TopicSize(len(topic.partitions), factor)
    return sizes


async def _quotas(admin: AdminClient, wanted: bool) -> dict[ClientQuotaEntity, dict[str, float]]:
    if wanted and admin.dialect == "kip4":
        raise NotSupported("a quota of clients", "nodes limit each client by their settings")
    return await admin.describe_client_quotas() if wanted else {}


async def _users(admin: AdminClient, wanted: bool) -> dict[str, frozenset[ScramMechanismName]]:
    users: dict[str, frozenset[ScramMechanismName]] = {}
    for name, credentials in (await admin.describe_user_scram_credentials()).items() if wanted else ():
        if isinstance(credentials, AdminError):
            raise credentials
        users[name] = frozenset(credential.mechanism for credential in credentials)
    return users


async def _acls(admin: AdminClient, wanted: bool) -> frozenset[AclBinding]:
    return frozenset(await admin.describe_acls()) if wanted else frozenset()
