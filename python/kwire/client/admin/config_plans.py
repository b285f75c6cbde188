"""Plans of changes of configs: what is set now, and the names that brokers would store, or forget, without effect.

Brokers of Kafka accept any name of a config of a broker, and the deletion of any name at all, also of a misspelt one.
Verbs, scripts, and documents ask here, and differ in what they accept.

Examples:
    >>> from kwire.client.admin import ConfigChange, ConfigResource, ConfigResourceType
    >>> broker = ConfigResource(ConfigResourceType.BROKER, "1")
    >>> plan = admin.plan_config_change(broker, ConfigChange(delete=["log.retention.mss"]))
    >>> plan.unset, plan.knows("log.retention.mss"), plan.knows("log.retention.ms")
    (('log.retention.mss',), False, True)
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.client.admin.config_values import ConfigResource, ConfigResourceType, stored_source
from kwire.client.admin.configs import describe_configs
from kwire.client.admin.errors import AdminError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin.config_values import ConfigChange, ConfigValue
    from kwire.client.admin.session import AdminSession

LISTENER_PREFIX = "listener.name."
"""The prefix of a config of one listener, before its name and the name of the config (KIP-103)."""
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Configs of a broker, in bytes a second: for leaders, which send, and followers, which receive."""
UNREPORTED = frozenset({*RATES, "replica.alter.log.dirs.io.max.bytes.per.second"})
"""Configs that brokers report only while they are set: the replication quotas (DynamicConfig in Kafka, KIP-73)."""


class ConfigPlan(NamedTuple):
    """A change of the configs of a resource, compared with what brokers report.

    Attributes:
        resource: the resource.
        present: its configs by name; those of the default of all brokers include the configs of a live broker.
        unset: names to delete that the resource itself does not set.
        error: the reason why the configs cannot be described; nothing else is known then.
    """

    resource: ConfigResource
    present: Mapping[str, ConfigValue]
    unset: tuple[str, ...]
    error: AdminError | None = None

    def knows(self, name: str) -> bool:
        """Return whether brokers report a config, or may do so once it is set."""
        of_listener = name.startswith(LISTENER_PREFIX) and any(name.endswith(f".{known}") for known in self.present)
        return name in self.present or of_listener or name in UNREPORTED

    def own(self, name: str) -> str | None:
        """Return the value that the resource itself sets; None if it sets none."""
        config = self.present.get(name)
        return None if config is None or config.source is not stored_source(self.resource) else config.value or ""


async def plan_config_change(admin: AdminSession, resource: ConfigResource, change: ConfigChange) -> ConfigPlan:
    """Return the plan of a change, which changes nothing."""
    asked = [resource]
    if resource == ConfigResource(ConfigResourceType.BROKER, ""):
        [first, *_] = (await admin.router.describe_cluster()).brokers
        asked.insert(0, ConfigResource(ConfigResourceType.BROKER, str(first.id)))
    present: dict[str, ConfigValue] = {}
    try:
        for configs in (await describe_configs(admin, asked)).values():
            if isinstance(configs, AdminError):
                return ConfigPlan(resource, {}, (), configs)
            present |= configs
    except AdminError as error:
        return ConfigPlan(resource, {}, (), error)
    plan = ConfigPlan(resource, present, ())
    return plan._replace(unset=tuple(name for name in change.delete if plan.own(name) is None))
