"""`kafka quotas`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire.client.admin import ClientQuotaEntity, EntityName, Outcomes
from kwire.client.admin.quotas import entity_name_text, parse_entity_name
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Choice, Danger, NotFound, Option, Syntax, parse_configs
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run


@operation(
    nothing="No quotas are set.",
    dialects=("kafka",),
    examples=("quotas get", "quotas get --user alice", "quotas get --client-id '<default>' --strict -o json"),
)
async def get(
    run: Run,
    user: Annotated[str | None, Option(f"Only entities with this user; {DEFAULT_HELP}.", "NAME", "users")] = None,
    client_id: Annotated[str | None, Option(f"Only entities with this client id; {DEFAULT_HELP}.", "ID")] = None,
    ip: Annotated[str | None, Option(f"Only this IP address; {DEFAULT_HELP}.", "ADDRESS")] = None,
    strict: Annotated[bool, Option("Only entities without other parts.")] = False,
) -> Rows[EntityQuotas]:
    """Show the quotas that are set."""
    quotas = await run.admin.describe_client_quotas(parse_entity(user, client_id, ip), strict=strict)
    return [EntityQuotas(*entity_texts(entity), quotas[entity]) for entity in sorted(quotas, key=str)]


@operation(
    Danger.CHANGES,
    waits=True,
    choices=(Choice(("user", "client_id", "ip"), most=None),),
    dialects=("kafka",),
    examples=(
        "quotas set producer_byte_rate=1000000 consumer_byte_rate=2000000 --user alice",
        "quotas set request_percentage=50 --user alice --client-id '<default>'",
        "quotas set connection_creation_rate=10 --ip 192.0.2.7",
    ),
)
async def set_(
    run: Run,
    quotas: Annotated[
        list[str], Argument("Quotas, such as producer_byte_rate=1000000.", "KEY=VALUE", syntax=QUOTA, item="quota")
    ],
    user: Annotated[str | None, Option(f"The user; {DEFAULT_HELP}.", "NAME", "users")] = None,
    client_id: Annotated[str | None, Option(f"The client id; {DEFAULT_HELP}.", "ID")] = None,
    ip: Annotated[str | None, Option(f"The IP address; {DEFAULT_HELP}.", "ADDRESS")] = None,
) -> Rows[QuotaChange]:
    """Set quotas of an entity, and wait until every broker reports them."""
    entity = parse_entity(user, client_id, ip)
    values: dict[str, float | None] = {**parse_values(quotas)}
    outcomes = await run.admin.alter_client_quotas({entity: values}, validate_only=run.dry_run)
    if run.wait and not run.dry_run and not outcomes.errors:
        await run.admin.wait_until_client_quotas({entity: values}, timeout=run.wait, on_progress=run.on_progress)
    return quota_changes(entity, values, outcomes, "would be set" if run.dry_run else "set")


@operation(
    Danger.DESTROYS,
    waits=True,
    choices=(Choice(("user", "client_id", "ip"), most=None),),
    dialects=("kafka",),
    examples=("quotas delete producer_byte_rate --user alice", "quotas delete --client-id '<default>' --yes"),
)
async def delete(
    run: Run,
    keys: Annotated[list[str], Argument("Keys, such as producer_byte_rate [default: all of the entity].", "KEY")],
    user: Annotated[str | None, Option(f"The user; {DEFAULT_HELP}.", "NAME", "users")] = None,
    client_id: Annotated[str | None, Option(f"The client id; {DEFAULT_HELP}.", "ID")] = None,
    ip: Annotated[str | None, Option(f"The IP address; {DEFAULT_HELP}.", "ADDRESS")] = None,
) -> Rows[QuotaChange]:
    """Delete quotas of an entity, and wait until no broker reports them."""
    entity = parse_entity(user, client_id, ip)
    existing = (await run.admin.describe_client_quotas(entity, strict=True)).get(entity, {})
    if missing := [key for key in keys if key not in existing]:
        present = f"it has {', '.join(existing)}" if existing else "it has none"
        raise NotFound(f"{entity} has no quota {missing[0]}: {present}")
    if not existing:
        raise NotFound(f"{entity} has no quotas")
    values: dict[str, float | None] = dict.fromkeys(keys or existing)
    if not run.dry_run:
        run.confirm(f"Delete {', '.join(f'{key}={existing[key]:.17g}' for key in values)} of {entity}?")
    outcomes = await run.admin.alter_client_quotas({entity: values}, validate_only=run.dry_run)
    if run.wait and not run.dry_run and not outcomes.errors:
        await run.admin.wait_until_client_quotas({entity: values}, timeout=run.wait, on_progress=run.on_progress)
    return quota_changes(entity, values, outcomes, "would be deleted" if run.dry_run else "deleted")


DEFAULT_HELP = "'<default>' is the default entity, and '\\\\<default>' one of this name"
"""The default entity in the help of options."""
QUOTA = Syntax(
    r"[^=]+=-?[0-9]{1,15}(?:\.[0-9]{1,9})?(?:[eE][+-]?[0-9]{1,2})?",
    "a quota: write a key and a number, such as producer_byte_rate=1000",
)


@dataclass(frozen=True, slots=True)
class EntityQuotas:
    """An entity with its quotas.

    Attributes:
        user: the user; None if the entity has none, and `<default>` for the default entity. A user who is called
            `<default>` has a backslash before it.
        client_id: the client id. See `user`.
        ip: the IP address. See `user`.
        quotas: values by key.
    """

    user: str | None
    client_id: str | None
    ip: str | None
    quotas: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """The outcome of a change of a quota.

    Attributes:
        user: see EntityQuotas, as for `client_id` and `ip`.
        key: the key of the quota.
        value: its value; None if it is deleted.
        status: the outcome, such as `set`, or `would be set` in a dry run.
        attempts: number of times the request was sent.
    """

    user: str | None
    client_id: str | None
    ip: str | None
    key: str
    value: float | None
    status: str
    attempts: int = field(metadata=column(table=False))


def parse_entity(user: str | None, client_id: str | None, ip: str | None) -> ClientQuotaEntity:
    """Return the entity that options name."""
    return ClientQuotaEntity(user=_name(user), client_id=_name(client_id), ip=_name(ip))


def parse_values(texts: Sequence[str]) -> dict[str, float]:
    """Return quotas from texts such as `producer_byte_rate=1000000`.

    Raises:
        InvalidArgument: a text is not a quota, or a key is given twice.
    """
    for text in texts:
        QUOTA.match(text)
    return {key: float(value) for key, value in parse_configs(texts).items()}


def quota_changes(
    entity: ClientQuotaEntity, values: Mapping[str, float | None], outcomes: Outcomes, status: str
) -> Rows[QuotaChange]:
    """Return the rows of a command for one entity."""
    error = outcomes[str(entity)]
    if error is not None:
        return [Failure(str(entity), error)]
    return [QuotaChange(*entity_texts(entity), key, value, status, outcomes.attempts) for key, value in values.items()]


def entity_texts(entity: ClientQuotaEntity) -> tuple[str | None, str | None, str | None]:
    """Return the texts of user, client id, and IP address."""
    user, client_id, ip = (
        None if name is None else entity_name_text(name) for name in (entity.user, entity.client_id, entity.ip)
    )
    return user, client_id, ip


def _name(text: str | None) -> EntityName:
    return None if text is None else parse_entity_name(text)
