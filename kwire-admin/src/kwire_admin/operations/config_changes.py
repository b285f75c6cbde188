"""Changes of configs: names that a broker does not report are refused, and nodes with a stronger file are reported."""

from __future__ import annotations

import sys

from kwire._util.concurrency import gather
from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.similar_names import did_you_mean
from kwire.client.admin import AdminError, ConfigResource, ConfigResourceType, ConfigSource, ShadowedConfig
from kwire.declare.secrets import is_secret_config
from kwire.errors import KwireError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.parameters import InvalidArgument, NotFound
from kwire_admin.operations.resources import ConfigsChanged, name_resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kwire.client.admin import AdminClient, ConfigChange, Outcomes
    from kwire.client.admin.config_plans import ConfigPlan
    from kwire_admin.operations.declaration import Rows
    from kwire_admin.operations.run import Run

REFUSALS = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)


def read_configs(file: Path) -> dict[str, str]:
    """Return the configs of a properties file; of stdin for the name `-`.

    Raises:
        InvalidArgument: the file cannot be read, or has no configs. The error never shows its content.
    """
    from kwire._util.properties import parse_properties
    from kwire._util.text_files import EncodingError, decode_text

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
        done: the change, as a participle such as `set`.
        force: accept names that a broker does not report, such as those of a plugin.

    Raises:
        NotFound: a broker does not report a name.
    """
    from kwire.client.admin.config_plans import ConfigPlan

    names = (*change.set, *change.append, *change.subtract, *change.delete)
    if run.admin.dialect == "kip4" and resource.type is not ConfigResourceType.TOPIC:
        plan = ConfigPlan(resource, {}, ())  # nodes check names themselves
    else:
        plan = await run.admin.plan_config_change(resource, change)
    if resource.type is ConfigResourceType.BROKER and run.admin.dialect == "kafka" and not force:
        if plan.error is not None:
            raise plan.error
        for name in names:
            if reason := unknown_config(name, plan):
                raise NotFound(reason)
    elif reason := unknown_deletion(run.admin, plan, change.delete):
        raise NotFound(reason)
    shadowed_by = await _shadowed_by(run.admin, resource, names)
    # Brokers report changes of their own configs with a delay, so only the configs of topics are compared.
    is_effective = resource.type is not ConfigResourceType.TOPIC or len(names) > len(plan.unset)
    if run.dry_run or run.admin.dialect == "kip4":  # nodes have an audit of their own
        outcomes = await run.admin.alter_configs({resource: change}, validate_only=run.dry_run)
    else:
        outcomes = await _alter_with_journal(run, plan, change)
    status = f"would be {done}" if run.dry_run else done
    if not is_effective:
        status = "unchanged: not set"
    return [
        Failure(item, error)
        if error is not None
        else ConfigsChanged(item, status, outcomes.attempts, shadowed_by or outcomes.shadowed)
        for item, error in outcomes.items()
    ]


async def _shadowed_by(
    admin: AdminClient, resource: ConfigResource, names: Sequence[str]
) -> tuple[ShadowedConfig, ...]:
    """Return the brokers of Kafka whose own configs take precedence over the default of all brokers (KIP-226)."""
    if resource != ConfigResource(ConfigResourceType.BROKER, "") or admin.dialect != "kafka":
        return ()

    async def ask(broker: int) -> list[ShadowedConfig]:
        of_broker = ConfigResource(ConfigResourceType.BROKER, str(broker))
        try:
            configs = (await admin.describe_configs([of_broker]))[of_broker]
        except KwireError as error:
            return [ShadowedConfig(broker, None, None, None, str(error))]
        if isinstance(configs, AdminError):
            return [ShadowedConfig(broker, None, None, None, configs.reason)]
        own = ((name, configs.get(name)) for name in names)
        return [
            ShadowedConfig(broker, name, config.value, "broker")
            for name, config in own
            if config is not None and config.source is ConfigSource.BROKER
        ]

    brokers = sorted(broker.id for broker in (await admin.describe_cluster()).brokers)
    return tuple(shadowed for of_broker in await gather(*map(ask, brokers)) for shadowed in of_broker)


def unknown_deletion(admin: AdminClient, plan: ConfigPlan, names: Iterable[str]) -> str | None:
    """Return why configs cannot be deleted, or None: a broker accepts the deletion of any name, also of a misspelt one.

    Nodes of kwire check names themselves. A user who cannot see the configs may delete them all the same.

    Raises:
        AdminError: the configs of a broker cannot be described.
    """
    if admin.dialect == "kip4" or plan.resource.type is ConfigResourceType.CLIENT_METRICS:
        return None
    if plan.error is not None:
        if plan.error.code in REFUSALS or plan.resource.type is not ConfigResourceType.BROKER:
            return None  # of a topic that does not exist, the change itself has a better error
        raise plan.error
    unknown = next((name for name in names if not plan.knows(name)), None)
    if unknown is None:
        return None
    return f"{name_resource(plan.resource)} has no config {unknown!r}{did_you_mean(unknown, tuple(plan.present))}"


async def _alter_with_journal(run: Run, plan: ConfigPlan, change: ConfigChange) -> Outcomes:
    """Change configs of Kafka, with an entry in the journal of this machine."""
    from kwire_admin.operations.config_journal import HIDDEN, JournaledChange, journaled  # its imports take long

    resource = plan.resource
    appended = {name: f"+{value}" for name, value in change.append.items()}
    subtracted = {name: f"-{value}" for name, value in change.subtract.items()}
    values: dict[str, str | None] = {**dict.fromkeys(change.delete), **change.set, **appended, **subtracted}
    changes = []
    for name, value in values.items():
        config, old = plan.present.get(name), plan.own(name)
        is_secret = is_secret_config(name) or (config is not None and config.is_sensitive)
        hidden = (None if shown is None or not is_secret else HIDDEN for shown in (old, value))
        shown_old, shown_new = (hide or shown for hide, shown in zip(hidden, (old, value), strict=True))
        changes.append(JournaledChange(name_resource(resource), name, shown_old, shown_new))
    with journaled(run, (await run.admin.describe_cluster()).cluster_id, changes) as refused:
        outcomes = await run.admin.alter_configs({resource: change})
        refused.update((name_resource(resource), error.reason) for error in outcomes.errors.values())
    return outcomes


def unknown_config(name: str, plan: ConfigPlan) -> str | None:
    """Return why brokers should not get a config, or None.

    A broker stores any name, and one that nothing reads has no effect. The names of all other resources are checked by
    the brokers.
    """
    if plan.knows(name):
        return None
    return (
        f"brokers report no config {name!r}, and would store it without effect unless a plugin reads it; "
        f"`configs set --force` does so{did_you_mean(name, tuple(plan.present))}"
    )
