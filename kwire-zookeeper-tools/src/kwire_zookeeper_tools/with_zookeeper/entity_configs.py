"""Configs of clients, users, and brokers in ZooKeeper, as the old releases write them by themselves.

On a cluster of Kafka, the scripts change them through the brokers. Nodes of kwire limit each client by their own
settings, and have no requests for these configs: there, a script does what the script of the release does, and warns
that nodes do not read what it has written.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kwire.declare.secrets import is_secret_config
from kwire_admin.compat.script import ScriptFailed
from kwire_admin.reassignment.throttle import RATES
from kwire_cluster.config.stored_configs import change_config, read_config
from kwire_cluster.zookeeper.configs import DEFAULT_ENTITY, desanitize, sanitize
from kwire_zookeeper_tools.offsets.consumer_offsets import child_names
from kwire_zookeeper_tools.with_zookeeper import tool_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_admin.compat.script import ScriptRun
    from kwire_admin.compat.scripts.configs import Entity

    Names = dict[str, str]
    """Names of entities by type, such as `{"users": "alice", "clients": "app"}`; empty for the default."""

__all__ = ["QUOTAS", "change_entity", "described_entities", "unknown_dynamic"]

QUOTAS = ("producer_byte_rate", "consumer_byte_rate")
ORDER = ("users", "clients", "brokers")
"""Types in the order of the path: the client of a user is below the user."""
HIDDEN = "[hidden]"


def unknown_dynamic(name: str) -> str:
    """Return the sentence of Kafka 0.10 for a config that clients, users, or brokers do not have."""
    return f"requirement failed: Unknown Dynamic Configuration '{name}'."


async def change_entity(
    run: ScriptRun, entities: Sequence[Entity], added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    """Change configs of an entity.

    Raises:
        ScriptFailed: the entity cannot have a config.
    """
    names = {entity.type: entity.name or "" for entity in entities}
    known = RATES if "brokers" in names else QUOTAS
    for key in added:
        if key not in known and not run.is_before("0.10.1.0"):
            raise ScriptFailed(f"Error while executing config command {unknown_dynamic(key)}", on_stdout=True)
    changes = {**added, **dict.fromkeys(deleted)}
    [(_, before)] = await described_entities(run, entities)
    unset = [key for key in deleted if key not in before]
    if unset and not run.is_before("0.10.0.0"):
        reason = f"Invalid config(s): {','.join(unset)}"
        raise ScriptFailed(f"Error while executing config command {reason}", on_stdout=True)
    store = await tool_run(run).zookeeper()
    await change_config(store, _path(run, names), changes, author=None, node_id=-1)
    # In the form of Kafka's log, which scripts around the old tools skip.
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S,000")
    run.warn(f"[{now}] WARN nodes of kwire do not read these configs, and limit each client by their own settings")


async def described_entities(run: ScriptRun, entities: Sequence[Entity]) -> list[tuple[Names, dict[str, str]]]:
    """Return the chosen entities with their configs; of a type without a name, all that have configs."""
    store = await tool_run(run).zookeeper()
    chosen: list[tuple[str, Names]] = [("", {})]
    for entity in sorted(entities, key=lambda entity: ORDER.index(entity.type)):
        below: list[tuple[str, Names]] = []
        for path, names in chosen:
            root = f"{path}{entity.type}"
            znodes = await child_names(store, f"/config/{root}") if entity.name is None else [_znode(run, entity.name)]
            below += [(f"{root}/{znode}/", {**names, entity.type: _name(znode)}) for znode in znodes]
        chosen = below
    described = []
    for path, names in chosen:
        configs = (await read_config(store, path.removesuffix("/"))).config.config
        shown = {key: HIDDEN if is_secret_config(key) else value for key, value in configs.items()}
        described.append((names, shown))
    # A user can be there only because of its clients.
    every_user = [(entity.type, entity.name) for entity in entities] == [("users", None)]
    return [(names, configs) for names, configs in described if configs or not every_user]


def _path(run: ScriptRun, names: Names) -> str:
    """Return the path of an entity below `/config`."""
    return "/".join(f"{type}/{_znode(run, names[type])}" for type in ORDER if type in names)


def _znode(run: ScriptRun, name: str) -> str:
    """Return the name of a znode. Before Kafka 0.10.1, it was the name of the client as it is."""
    if not name:
        return DEFAULT_ENTITY
    return name if run.is_before("0.10.1.0") else sanitize(name)


def _name(znode: str) -> str:
    return "" if znode == DEFAULT_ENTITY else desanitize(znode)
