"""Set the throttles of a run, and restore the previous values.

The previous values are in the journal before the first request that changes them, so that another process can restore
them. Only values that a broker or topic sets itself count: an inherited one comes back by itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.client.admin.config_values import ConfigChange, ConfigResource, ConfigResourceType, ConfigSource
from kwire.client.admin.errors import AdminError, BrokerNotFound, OutcomeUnknown
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault
from kwire_admin.reassignment.errors import ReassignError
from kwire_admin.reassignment.execution.journal import EventKind
from kwire_admin.reassignment.throttle import RATES, REPLICAS, throttled_brokers, throttled_replicas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.admin_client import AdminClient
    from kwire_admin.reassignment.execution.run_folder import RunFolder
    from kwire_admin.reassignment.plan import Move

OWN_SOURCES = frozenset({ConfigSource.TOPIC, ConfigSource.BROKER})
PAUSE = 0.1
"""Poll interval in seconds for configs that a broker does not report yet."""
PATIENCE = 30.0
"""Timeout in seconds until a broker reports a config that it accepted; chosen, not measured."""


class Throttles:
    """The throttles of a run."""

    def __init__(self, admin: AdminClient, run: RunFolder) -> None:
        self._admin = admin
        self._run = run

    async def set_brokers(self, moves: Iterable[Move], rate: int) -> None:
        """Bound the rate of all live brokers that send or receive data."""
        await self._set(await _rates(self._admin, moves, rate))

    async def set_topics(self, moves: Iterable[Move]) -> None:
        """Mark the replicas of these moves as throttled, and no others."""
        replicas = throttled_replicas(moves)
        previous = await self._previous([_topic(topic) for topic in replicas])
        values = {
            resource: replicas[resource.name].combined(previous[resource])
            for resource in map(_topic, replicas)
            if resource in previous
        }
        await self._set(values)

    async def restore(self, keep: Iterable[str] = (), *, topics_only: bool = False) -> None:
        """Restore the configs of all resources.

        Args:
            keep: topics that stay as they are.
            topics_only: leave the rates of brokers.

        Raises:
            ReassignError: a broker is down.
        """
        excluded = {str(_topic(topic)) for topic in keep}
        left: dict[str, str] = {}
        live = {str(broker.id) for broker in (await self._admin.describe_cluster()).brokers}
        for name, previous in list(self._run.state.throttles.items()):
            resource = _parse(name)
            if name in excluded or (topics_only and resource.type is ConfigResourceType.BROKER):
                continue
            if resource.type is ConfigResourceType.BROKER and resource.name not in live:
                left[name] = f"broker {resource.name} is down"
                continue
            try:
                await self._alter(resource, previous)
            except (BrokerNotFound, ConnectionFault, OutcomeUnknown) as error:
                left[name] = str(error)
                continue
            self._run.record(EventKind.UNTHROTTLED, resource=name)
        if left:
            reason = next(iter(left.values()))
            raise ReassignError(
                f"{', '.join(left)} may still be throttled ({reason}): run `resume` or `cancel` once all brokers are up"
            )

    async def _set(self, values: Mapping[ConfigResource, Mapping[str, str]]) -> None:
        """Write present values to the journal, then change them, and wait until brokers report the change."""
        present = await self._own_values(list(values))
        changes = {}
        for resource, targets in values.items():
            if resource not in present:  # deleted
                continue
            recorded = self._run.state.throttles.get(str(resource), {})
            before = {name: present[resource].get(name) for name in targets if name not in recorded}
            if before:
                self._run.record(EventKind.THROTTLING, resource=str(resource), previous=before)
            if any(present[resource].get(name) != value for name, value in targets.items()):
                changes[resource] = dict(targets)
        for resource, targets in changes.items():
            await self._alter(resource, targets)

    async def _previous(self, resources: Sequence[ConfigResource]) -> dict[ConfigResource, dict[str, str | None]]:
        """Return the values before the run by existing resource; a value of the journal takes precedence."""
        described = await self._own_values(resources)
        return {
            resource: values | self._run.state.throttles.get(str(resource), {})
            for resource, values in described.items()
        }

    async def _own_values(self, resources: Sequence[ConfigResource]) -> dict[ConfigResource, dict[str, str | None]]:
        """Return the throttles that resources set themselves; resources that do not exist are left out."""
        described = await self._admin.describe_configs(resources) if resources else {}
        own_values: dict[ConfigResource, dict[str, str | None]] = {}
        for resource, configs in described.items():
            if isinstance(configs, AdminError):
                if configs.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    continue
                raise configs
            own_values[resource] = {
                name: configs[name].value
                for name in _names(resource)
                if name in configs and configs[name].source in OWN_SOURCES and configs[name].value
            }
        return own_values

    async def _alter(self, resource: ConfigResource, targets: Mapping[str, str | None]) -> None:
        """Set configs, or delete them for None, and wait until the cluster reports them.

        A topic that does not exist is left out.

        Raises:
            ConnectionFault: the broker is down.
            ReassignError: the change is not visible in time.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        change = ConfigChange(
            set={name: value for name, value in targets.items() if value is not None},
            delete=[name for name, value in targets.items() if value is None],
        )
        outcomes = await self._admin.alter_configs({resource: change})
        error = next(iter(outcomes.errors.values()), None)
        if error is not None and error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise error
        while True:
            present = await self._own_values([resource])
            if resource not in present or all(present[resource].get(name) == value for name, value in targets.items()):
                return
            if loop.time() > deadline:
                raise ReassignError(f"{resource} does not report {targets} {PATIENCE:g} s after it was changed")
            await asyncio.sleep(PAUSE)


async def check_rate(admin: AdminClient, moves: Iterable[Move], rate: int) -> None:
    """Check that brokers accept a throttle, before anything is moved.

    Raises:
        AdminError: a broker refuses it.
    """
    rates = await _rates(admin, moves, rate)
    changes = {resource: ConfigChange(set=dict(values)) for resource, values in rates.items()}
    if changes:
        (await admin.alter_configs(changes, validate_only=True)).raise_first()


async def throttled_by(admin: AdminClient) -> list[str]:
    """Return the brokers with a throttle of their own, such as `broker/1`, for a cluster in which nothing moves.

    Raises:
        AdminError: the user cannot see the configs of brokers.
        ConnectionFault: a broker does not answer.
        BrokerNotFound: a broker has just stopped.
    """
    described = await admin.describe_configs(_broker(broker.id) for broker in (await admin.describe_cluster()).brokers)
    throttled: list[str] = []
    for resource, configs in described.items():
        if isinstance(configs, AdminError):
            raise configs
        if any(name in configs and configs[name].source in OWN_SOURCES for name in RATES):
            throttled.append(f"broker/{resource.name}")
    return throttled


async def _rates(admin: AdminClient, moves: Iterable[Move], rate: int) -> dict[ConfigResource, dict[str, str]]:
    """Return the throttles of all live brokers that send or receive data."""
    live = {broker.id for broker in (await admin.describe_cluster()).brokers}
    return {_broker(broker): dict.fromkeys(RATES, str(rate)) for broker in throttled_brokers(moves) if broker in live}


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
