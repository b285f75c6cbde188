"""The tool `users`: credentials of SCRAM, changed through any node. The audit of `config` has the changes.

A password stays with the client, which derives the credential. `list` reads ZooKeeper; `list --applied` returns the
credentials that this node has taken over from there, if it uses SASL. A user that cannot be read is listed with an
`error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from kwire.protocol.sasl_server import ScramCredential
from kwire.protocol.scram_passwords import HASHES
from kwire_admin.operations.declaration import NODE, Need, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option
from kwire_cluster.config.stored_configs import change_config, read_config
from kwire_cluster.zookeeper.configs import DEFAULT_ENTITY, EntityConfig, desanitize, sanitize
from kwire_cluster.zookeeper.errors import NotAuthorized, ZnodeError
from kwire_zookeeper_tools.children import check_child, data_of, read_children
from kwire_zookeeper_tools.tool_run import NodeRun

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire_cluster.zookeeper.store import Store

USERS = "/config/users"

User = Annotated[str, Argument("The name of the user.", "USER")]
Mechanism = Annotated[str, Argument(f"One of {', '.join(sorted(HASHES))}.", "MECHANISM")]


@operation(runs_on=NODE, needs={Need.ZOOKEEPER}, time_limit=None)
async def list_(
    run: NodeRun, applied: Annotated[bool, Option("Only credentials that this node has taken over.")] = False
) -> None:
    """Print users with the iterations by mechanism, without credentials."""
    scram_users = run.services.scram_users
    if applied and scram_users is not None:
        iterations = sorted(scram_users.iterations().items())
        rows: list[dict[str, Any]] = [{"user": user, "credentials": by_mechanism} for user, by_mechanism in iterations]
    else:
        rows = [row async for row in _stored_rows(run.store)]
    await run.print_json(rows)


@operation(Danger.CHANGES, runs_on=NODE, needs={Need.ZOOKEEPER}, time_limit=None)
async def set_(
    run: NodeRun,
    user: User,
    mechanism: Mechanism,
    credential: Annotated[str, Argument("salt=...,stored_key=...,server_key=...,iterations=...", "CREDENTIAL")],
) -> None:
    """Set a credential."""
    _check(user, mechanism)
    try:
        checked = str(ScramCredential.parse(credential))
    except ValueError:
        expected = "a credential as Kafka stores it: salt, stored_key, server_key, iterations"
        raise InvalidArgument(f"expected {expected}") from None
    await _change(run, user, mechanism, checked)


@operation(Danger.CHANGES, runs_on=NODE, needs={Need.ZOOKEEPER}, time_limit=None)
async def delete(run: NodeRun, user: User, mechanism: Mechanism) -> None:
    """Delete a credential."""
    _check(user, mechanism)
    if mechanism not in (await read_config(run.store, _entity(user))).config.config:
        raise InvalidArgument(f"user {user[:100]!r} has no credential for {mechanism}")
    await _change(run, user, mechanism, None)


@operation(
    runs_on=NODE,
    examples=("list", "delete alice SCRAM-SHA-512"),
    commands=(list_, set_, delete),
)
async def users(run: NodeRun) -> None:
    """List, set, and delete credentials of SCRAM."""


def _entity(user: str) -> str:
    return f"users/{sanitize(user)}"


def _check(user: str, mechanism: str) -> None:
    check_child(user, f"/config/{_entity(user)}", "a user")
    if mechanism not in HASHES:
        raise InvalidArgument(f"{mechanism[:100]!r} is not a mechanism: expected one of {', '.join(sorted(HASHES))}")


async def _change(run: NodeRun, user: str, mechanism: str, credential: str | None) -> None:
    """Change a credential, and print the new row of the user."""
    written = await change_config(
        run.store,
        _entity(user),
        {mechanism: credential},
        author=run.caller.author,
        node_id=run.services.settings.id,
        hide=frozenset(HASHES),
    )
    await run.print_json([_user_row(user, written.config)])


async def _stored_rows(store: Store) -> AsyncIterator[dict[str, Any]]:
    async for name, znode in read_children(store, USERS):
        if name == DEFAULT_ENTITY:
            continue
        user = desanitize(name)
        try:
            row = _user_row(user, EntityConfig.decode(data_of(znode), f"{USERS}/{name}"))
        except ZnodeError as error:  # its reason may contain a credential
            yield {"user": user, "error": f"{error.path} is malformed"}
            continue
        except NotAuthorized as error:
            yield {"user": user, "error": str(error)}
            continue
        if row.get("credentials") != {}:
            yield row


def _user_row(user: str, config: EntityConfig) -> dict[str, Any]:
    iterations = {}
    for mechanism in sorted(HASHES.keys() & config.config.keys()):
        try:
            iterations[mechanism] = ScramCredential.parse(config.config[mechanism]).iterations
        except ValueError:
            return {"user": user, "error": f"the credential for {mechanism} is malformed"}
    return {"user": user, "credentials": iterations}
