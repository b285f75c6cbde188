"""Configs in the dialect of the drafts of KIP-4, which has those that topics override and no others.

A topic is described with its overrides, and changed with AlterTopic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin.configs import ConfigResource, ConfigResourceType, ConfigSource, ConfigValue
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.values import Outcomes, TopicChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.backend import Backend
    from kwire.client.admin.configs import ConfigChange, Described

__all__ = ["alter", "describe"]


async def describe(backend: Backend, resources: Iterable[ConfigResource]) -> Described:
    """Return the configs that topics override.

    Raises:
        NotSupported: a resource is not a topic.
    """
    names = {_topic(resource): resource for resource in resources}
    described: Described = {}
    for name, topic in (await backend.describe_topics(tuple(names), configs=True)).items():
        if isinstance(topic, AdminError):
            described[names[name]] = topic
        else:
            described[names[name]] = {
                key: ConfigValue(value, ConfigSource.TOPIC, is_sensitive=False, is_read_only=False)
                for key, value in (topic.configs or {}).items()
            }
    return described


async def alter(backend: Backend, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool) -> Outcomes:
    """Set and delete configs that topics override. The outcomes are by resource, such as `topic orders`.

    Raises:
        NotSupported: a resource is not a topic, or a change appends, subtracts, or is only to be validated.
    """
    topics = {}
    for resource, change in changes.items():
        if change.append or change.subtract:
            raise NotSupported("appending to a config", "the drafts of KIP-4 only set and delete configs")
        topics[_topic(resource)] = TopicChange(set_configs=change.set, delete_configs=change.delete)
    outcomes = await backend.alter_topics(topics, validate_only=validate_only)
    return Outcomes(
        {str(ConfigResource(ConfigResourceType.TOPIC, name)): error for name, error in outcomes.items()},
        outcomes.attempts,
    )


def _topic(resource: ConfigResource) -> str:
    """Return the name of a topic."""
    if resource.type is not ConfigResourceType.TOPIC:
        raise NotSupported(f"a config of a {resource.type.singular}", "the drafts of KIP-4 have configs of topics only")
    return resource.name
