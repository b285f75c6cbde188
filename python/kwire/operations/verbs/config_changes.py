"""Changes of configs: names that a broker does not report are refused, and nodes with a stronger file are reported."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire._util.properties import parse_properties
from kwire._util.text_files import EncodingError, decode_text
from kwire.client.admin import AdminError, ConfigResource, ConfigResourceType, ShadowedConfig
from kwire.client.admin.config_values import stored_source
from kwire.declare.secrets import is_secret_config
from kwire.operations.config_journal import HIDDEN, JournaledChange, journaled
from kwire.operations.declaration import Failure
from kwire.operations.parameters import InvalidArgument, NotFound
from kwire.operations.registry import similar
from kwire.operations.verbs.resources import name_resource
from kwire.reassignment.throttle import RATES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kwire.client.admin import AdminClient, ConfigChange, ConfigValue, Outcomes
    from kwire.operations.declaration import Rows
    from kwire.operations.run import Run

__all__ = ["ConfigsChanged", "change_configs", "read_configs", "reported_configs", "unknown_config"]

LISTENER_PREFIX = "listener.name."
"""The prefix of a config of one listener, before its name and the name of the config (KIP-103)."""
UNREPORTED = frozenset({*RATES, "replica.alter.log.dirs.io.max.bytes.per.second"})
"""Configs that brokers report only while they are set: the replication quotas (DynamicConfig in Kafka, KIP-73)."""


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


def read_configs(file: Path) -> dict[str, str]:
    """Return the configs of a properties file; of stdin for the name `-`.

    Raises:
        InvalidArgument: the file cannot be read, or has no configs. The error never shows its content.
    """
    source = "stdin" if str(file) == "-" else str(file)
    try:
        data = sys.stdin.buffer.read() if source == "stdin" else file.read_bytes()
        configs = parse_properties(decode_text(data))
    except OSError as error:
        raise InvalidArgument(f"cannot read {source}: {error.strerror}") from None
    except EncodingError as error:
        raise InvalidArgument(f"{source}: {error}") from None
    if not configs or "" in configs:
        raise InvalidArgument(f"{source}: expected KEY=VALUE in each line")
    return configs


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
        NotFound: a broker does not report a name.
    """
    names = (*change.set, *change.append, *change.subtract, *change.delete)
    if resource.type is ConfigResourceType.BROKER and run.admin.dialect == "kafka" and not force:
        reported = await reported_configs(run.admin, resource)
        for name in names:
            if reason := unknown_config(name, reported):
                raise NotFound(reason)
    if run.dry_run or run.admin.dialect == "kip4":  # nodes have an audit of their own
        outcomes = await run.admin.alter_configs({resource: change}, validate_only=run.dry_run)
    else:
        outcomes = await _alter_with_journal(run, resource, change)
    status = f"would be {done}" if run.dry_run else done
    return [
        Failure(item, error)
        if error is not None
        else ConfigsChanged(item, status, outcomes.attempts, outcomes.shadowed)
        for item, error in outcomes.items()
    ]


async def _alter_with_journal(run: Run, resource: ConfigResource, change: ConfigChange) -> Outcomes:
    """Change configs of Kafka, with an entry in the journal of this machine."""
    described = (await run.admin.describe_configs([resource]))[resource]
    reported = {} if isinstance(described, AdminError) else described
    source = stored_source(resource)
    appended = {name: f"+{value}" for name, value in change.append.items()}
    subtracted = {name: f"-{value}" for name, value in change.subtract.items()}
    values: dict[str, str | None] = {**dict.fromkeys(change.delete), **change.set, **appended, **subtracted}
    changes = []
    for name, value in values.items():
        config = reported.get(name)
        is_secret = is_secret_config(name) or (config is not None and config.is_sensitive)
        old = None if config is None or config.source is not source else config.value or ""
        hidden = (None if shown is None or not is_secret else HIDDEN for shown in (old, value))
        shown_old, shown_new = (hide or shown for hide, shown in zip(hidden, (old, value), strict=True))
        changes.append(JournaledChange(name_resource(resource), name, shown_old, shown_new))
    with journaled(run, (await run.admin.describe_cluster()).cluster_id, changes) as outcome:
        outcomes = await run.admin.alter_configs({resource: change})
        outcome.refused = {name_resource(resource): error.text for error in outcomes.errors.values()}
    return outcomes


async def reported_configs(admin: AdminClient, resource: ConfigResource) -> dict[str, ConfigValue]:
    """Return the configs of a broker, or those of the default and of a live broker, by name.

    Raises:
        AdminError: the configs cannot be described.
    """
    asked = resource
    if not resource.name:
        [first, *_] = (await admin.describe_cluster()).brokers
        asked = ConfigResource(ConfigResourceType.BROKER, str(first.id))
    reported: dict[str, ConfigValue] = {}
    for configs in (await admin.describe_configs([asked, resource])).values():
        if isinstance(configs, AdminError):
            raise configs
        reported |= configs
    return reported


def unknown_config(name: str, reported: Mapping[str, ConfigValue]) -> str | None:
    """Return why brokers should not get a config, or None.

    A broker stores any name, and one that nothing reads has no effect. The names of all other resources are checked by
    the brokers.
    """
    of_listener = name.startswith(LISTENER_PREFIX) and any(name.endswith(f".{setting}") for setting in reported)
    if name in reported or of_listener or name in UNREPORTED:
        return None
    suggested = similar(name, tuple(reported))
    hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
    return (
        f"brokers report no config {name!r}, and would store it without effect unless a plugin reads it; "
        f"`configs set --force` does so{hint}"
    )
