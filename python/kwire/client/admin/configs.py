"""Configs: describe them, and change them one by one (KIP-339). Topics, brokers, and other resources have configs.

Examples:
    >>> from kwire.client.admin import ConfigChange, ConfigResource, ConfigResourceType, NewTopic
    >>> admin.create_topics({"events": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"events": 1})
    >>> topic = ConfigResource(ConfigResourceType.TOPIC, "events")
    >>> admin.alter_configs({topic: ConfigChange(set={"retention.ms": "86400000"})}).raise_first()
    >>> admin.wait_until_configured({"events": {"retention.ms": "86400000"}})
    >>> retention = admin.describe_configs([topic])[topic]["retention.ms"]
    >>> retention.value, retention.source
    ('86400000', <ConfigSource.TOPIC: 1>)
    >>> admin.alter_configs({topic: ConfigChange(delete=["retention.ms"])}).raise_first()
    >>> admin.delete_topics(["events"]).raise_first()
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import completion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.backend import AdminSession, ResourceConfigs, StoredConfigs
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.config_values import ConfigChange, ConfigResource, ConfigResourceType, RecordedChange
    from kwire.client.admin.values import Outcomes


async def describe_configs(
    admin: AdminSession, resources: Iterable[ConfigResource], *, documentation: bool = False, synonyms: bool = False
) -> ResourceConfigs:
    """Return the configs of resources by name. A broker reports its own configs.

    A cluster of the drafts reports what topics override, and the settings of its nodes.

    In a cluster with ZooKeeper, the configs of a topic are what ZooKeeper contains: it does not prove that the
    brokers apply them.

    Args:
        documentation: include a description of each config.
        synonyms: include what each value overrides.
    """
    return await admin.backend.configs.describe(resources, documentation=documentation, synonyms=synonyms)


async def alter_configs(
    admin: AdminSession, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool = False
) -> Outcomes:
    """Change configs. Other configs of the resources stay as they are.

    The command is repeated after a lost response unless it appends or subtracts. The outcomes are by resource, such
    as `topic orders`. Errors: 3 unknown topic; 40 an invalid value or name; 42 the broker cannot change it. A
    cluster of the drafts cannot append, subtract, or only check a request.

    Args:
        validate_only: check the request and change nothing.
    """
    return await admin.backend.configs.alter(changes, validate_only=validate_only)


async def export_configs(admin: AdminSession, type: ConfigResourceType) -> StoredConfigs:
    """Return what resources of one type store, by resource and name; None for a secret, which brokers never return.

    Inherited values and resources without a config of their own are left out, and so are the topics of Kafka itself
    and brokers that are down. What a node cannot read is logged and left out.

    Args:
        type: topics, brokers with the default of all brokers, groups (from Kafka 4.1), or client metrics (from 3.7).

    Raises:
        NotSupported: the cluster has no configs of this type, or cannot list its resources.
        AdminError: 29, 31 not authorized to describe the configs of a resource.
    """
    return await admin.backend.configs.export(type)


async def recorded_config_changes(
    admin: AdminSession, newest: int = 100, *, topic: str | None = None
) -> list[RecordedChange]:
    """Return the newest changes from the audit of a cluster of nodes, oldest first.

    These are changes of configs of brokers, of ACLs, of credentials of users, of topics, and of finalized features.

    Args:
        newest: maximum number of entries; an entry has all changes of one resource by one request.
        topic: only changes of this topic.

    Raises:
        NotSupported: the cluster is Kafka.
    """
    return await admin.backend.configs.recorded_changes(newest, topic)


async def wait_until_configured(
    admin: AdminSession,
    configs: Mapping[str, Mapping[str, str | None]],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports that topics override configs with these values.

    A broker of a Kafka cluster with ZooKeeper reports what ZooKeeper contains, and might not apply it yet.

    Args:
        configs: values by topic and name; None for a config that is not overridden.
        timeout: seconds to wait.
        on_progress: called after each round of requests.

    Raises:
        ChangeTimeout: a broker does not report the change in time.
    """
    conditions = {topic: completion.has_configs(values) for topic, values in configs.items()}
    await completion.wait_until(admin, "configured", conditions, timeout, on_progress, configs=True)
