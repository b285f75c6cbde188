"""Set the throttles of a run, and restore what they replaced.

The values before are in the journal before the first request that changes them, so that another process can restore
them. Only values that a broker or topic sets itself count: an inherited one comes back by itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.client.admin.config_values import ConfigChange, ConfigResource, ConfigResourceType, ConfigSource
from kwire.client.admin.errors import AdminError, BrokerNotFound
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault
from kwire.reassignment.errors import ReassignError
from kwire.reassignment.execution.journal import EventKind
from kwire.reassignment.throttle import RATES, REPLICAS, throttled_brokers, throttled_replicas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.admin_client import AdminClient
    from kwire.reassignment.execution.run_folder import RunFolder
    from kwire.reassignment.plan import Move

__all__ = ["Throttles", "ThrottlesLeft"]

OWN_SOURCES = frozenset({ConfigSource.TOPIC, ConfigSource.BROKER})
PAUSE = 0.1
"""Seconds between two looks at configs that a broker does not report yet."""
PATIENCE = 30.0
"""Seconds until a broker must report a config that was accepted."""


class ThrottlesLeft(ReassignError):
    """Throttles could not be removed, because brokers are down.

    Attributes:
        resources: the brokers and topics that are still throttled.
    """

    def __init__(self, resources: Sequence[str], reason: str) -> None:
        super().__init__(resources, reason)
        self.resources = tuple(resources)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{', '.join(self.resources)} may still be throttled ({self.reason}): run `resume` or `cancel` once all "
            "brokers are up"
        )


class Throttles:
    """The throttles of a run."""

    def __init__(self, admin: AdminClient, run: RunFolder) -> None:
        self._admin = admin
        self._run = run

    async def set_brokers(self, moves: Iterable[Move], rate: int) -> None:
        """Bound the rate of all live brokers that send or receive data."""
        live = {each.id for each in (await self._admin.describe_cluster()).brokers}
        brokers = [broker for broker in throttled_brokers(moves) if broker in live]
        values = dict.fromkeys(RATES, str(rate))
        await self._set({_broker(each): values for each in brokers})

    async def set_topics(self, moves: Iterable[Move]) -> None:
        """Mark the replicas that are throttled, and only those of these moves."""
        wanted = throttled_replicas(moves)
        previous = await self._previous([_topic(each) for each in wanted])
        values = {
            resource: wanted[resource.name].combined(previous[resource])
            for resource in map(_topic, wanted)
            if resource in previous
        }
        await self._set(values)

    async def restore(self, keep: Iterable[str] = (), *, topics_only: bool = False) -> None:
        """Restore the configs of all resources.

        Args:
            keep: topics that stay as they are.
            topics_only: leave the rates of brokers.

        Raises:
            ThrottlesLeft: a broker is down.
        """
        kept = {str(_topic(each)) for each in keep}
        left: dict[str, str] = {}
        live = {str(each.id) for each in (await self._admin.describe_cluster()).brokers}
        for name, previous in list(self._run.state.throttles.items()):
            resource = _parse(name)
            if name in kept or (topics_only and resource.type is ConfigResourceType.BROKER):
                continue
            if resource.type is ConfigResourceType.BROKER and resource.name not in live:
                left[name] = f"broker {resource.name} is down"
                continue
            try:
                await self._restore_one(resource, previous)
            except (BrokerNotFound, ConnectionFault) as error:
                left[name] = str(error)
                continue
            self._run.record(EventKind.UNTHROTTLED, resource=name)
        if left:
            raise ThrottlesLeft(list(left), next(iter(left.values())))

    async def _set(self, values: Mapping[ConfigResource, Mapping[str, str]]) -> None:
        """Write what is there to the journal, then change it, and wait until brokers report it."""
        present = await self._own_values(list(values))
        changes = {}
        for resource, wanted in values.items():
            if resource not in present:  # deleted
                continue
            known = self._run.state.throttles.get(str(resource), {})
            before = {name: present[resource].get(name) for name in wanted if name not in known}
            if before:
                self._run.record(EventKind.THROTTLING, resource=str(resource), previous=before)
            if any(present[resource].get(name) != value for name, value in wanted.items()):
                changes[resource] = ConfigChange(set=dict(wanted))
        for resource, change in changes.items():
            await self._alter(resource, change)

    async def _previous(self, resources: Sequence[ConfigResource]) -> dict[ConfigResource, dict[str, str | None]]:
        """Return the values before the run, by resource that exists; those of the journal where it has them."""
        described = await self._own_values(resources)
        return {
            resource: values | self._run.state.throttles.get(str(resource), {})
            for resource, values in described.items()
        }

    async def _own_values(self, resources: Sequence[ConfigResource]) -> dict[ConfigResource, dict[str, str | None]]:
        """Return the throttles that resources set themselves; resources that do not exist are left out."""
        described = await self._admin.describe_configs(resources) if resources else {}
        found: dict[ConfigResource, dict[str, str | None]] = {}
        for resource, configs in described.items():
            if isinstance(configs, AdminError):
                if configs.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    continue
                raise configs
            found[resource] = {
                name: configs[name].value
                for name in _names(resource)
                if name in configs and configs[name].source in OWN_SOURCES and configs[name].value
            }
        return found

    async def _restore_one(self, resource: ConfigResource, previous: Mapping[str, str | None]) -> None:
        change = ConfigChange(
            set={name: value for name, value in previous.items() if value is not None},
            delete=[name for name, value in previous.items() if value is None],
        )
        await self._alter(resource, change)

    async def _alter(self, resource: ConfigResource, change: ConfigChange) -> None:
        """Change configs and wait until the cluster reports them. A topic that does not exist is left out.

        Raises:
            ConnectionFault: the broker is down.
            ReassignError: the change is not visible in time.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        outcomes = await self._admin.alter_configs({resource: change})
        error = next(iter(outcomes.errors.values()), None)
        if error is not None and error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise error
        wanted: dict[str, str | None] = {**change.set, **dict.fromkeys(change.delete)}
        while True:
            found = await self._own_values([resource])
            if resource not in found or all(found[resource].get(name) == value for name, value in wanted.items()):
                return
            if loop.time() > deadline:
                raise ReassignError(f"{resource} does not report {wanted} {PATIENCE:g} s after it was changed")
            await asyncio.sleep(PAUSE)


def _names(resource: ConfigResource) -> tuple[str, ...]:
    return REPLICAS if resource.type is ConfigResourceType.TOPIC else RATES


def _broker(broker: int) -> ConfigResource:
    return ConfigResource(ConfigResourceType.BROKER, str(broker))


def _topic(topic: str) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC, topic)


def _parse(text: str) -> ConfigResource:
    """Return the resource for its text in a journal, such as `broker 1`."""
    kind, _, name = text.partition(" ")
    return ConfigResource(ConfigResourceType[kind.upper()], name)
