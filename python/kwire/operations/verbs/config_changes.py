"""Changes of configs: names that a broker does not report are refused, and nodes with a stronger file are reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, ConfigResource, ConfigResourceType, ShadowedConfig
from kwire.operations.declaration import Failure
from kwire.operations.parameters import InvalidArgument
from kwire.operations.registry import similar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin import AdminClient, ConfigChange
    from kwire.operations.declaration import Rows
    from kwire.operations.run import Run

__all__ = ["ConfigsChanged", "change_configs"]

LISTENER_PREFIX = "listener.name."
"""The prefix of a config of one listener, before its name and the name of the config (KIP-103)."""


@dataclass(frozen=True, slots=True)
class ConfigsChanged:
    """The outcome of a change of the configs of a resource.

    Attributes:
        name: the resource, such as `topic orders`.
        status: the outcome, such as `set`, or `would be set` in a dry run.
        attempts: number of times the request was sent.
        shadowed_by: nodes on which the change has no effect, because their files have other values.
    """

    name: str
    status: str
    attempts: int
    shadowed_by: tuple[ShadowedConfig, ...]


async def change_configs(
    run: Run, resource: ConfigResource, change: ConfigChange, done: str, *, force: bool = False
) -> Rows[ConfigsChanged]:
    """Change the configs of a resource.

    Args:
        run: the run.
        resource: the resource.
        change: the change.
        done: the change, as a participle such as `set`.
        force: accept names that a broker does not report, such as those of a plugin.

    Raises:
        InvalidArgument: a broker does not report a name.
    """
    names = (*change.set, *change.append, *change.subtract, *change.delete)
    if resource.type is ConfigResourceType.BROKER and run.admin.dialect == "kafka" and not force:
        await _check_names(run.admin, resource, names)
    outcomes = await run.admin.alter_configs({resource: change}, validate_only=run.dry_run)
    status = f"would be {done}" if run.dry_run else done
    return [
        Failure(item, error)
        if error is not None
        else ConfigsChanged(item, status, outcomes.attempts, outcomes.shadowed)
        for item, error in outcomes.items()
    ]


async def _check_names(admin: AdminClient, resource: ConfigResource, names: Iterable[str]) -> None:
    """Check that configs of brokers exist. A broker stores any name, and one that nothing reads has no effect.

    Brokers check the names of all other resources themselves.

    Raises:
        InvalidArgument: a broker reports neither the name nor, for one listener, the name after its prefix.
        AdminError: the configs cannot be described.
    """
    asked = resource
    if not resource.name:
        [first, *_] = (await admin.describe_cluster()).brokers
        asked = ConfigResource(ConfigResourceType.BROKER, str(first.id))
    existing: set[str] = set()
    for configs in (await admin.describe_configs({asked, resource})).values():
        if isinstance(configs, AdminError):
            raise configs
        existing |= set(configs)
    for name in names:
        of_listener = name.startswith(LISTENER_PREFIX) and any(name.endswith(f".{each}") for each in existing)
        if name not in existing and not of_listener:
            suggested = similar(name, tuple(existing))
            hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
            raise InvalidArgument(
                f"brokers report no config {name!r}, and would store it without effect unless a plugin reads it; "
                f"`set --force` does so{hint}"
            )
