"""`kafka quotas`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire.client.admin import ClientQuotaEntity
from kwire.client.admin.quotas import entity_name_text, parse_entity_name
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Choice, Danger, NotFound, Option, Syntax, parse_configs
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityOptions:
    """The options that name an entity."""

    user: Annotated[str | None, Option(f"The user; {DEFAULT_HELP}.", "NAME", "users")] = None
    client_id: Annotated[str | None, Option(f"The client id; {DEFAULT_HELP}.", "ID")] = None
    ip: Annotated[str | None, Option(f"The IP address; {DEFAULT_HELP}.", "ADDRESS")] = None

    def entity(self) -> ClientQuotaEntity:
        """Return the entity."""
        user, client_id, ip = (
            None if name is None else parse_entity_name(name) for name in (self.user, self.client_id, self.ip)
        )
        return ClientQuotaEntity(user=user, client_id=client_id, ip=ip)


NAMED = Choice(("user", "client_id", "ip"), most=None)
"""An entity has at least one name."""


@operation(
    nothing="No quotas are set.",
    dialects=("kafka",),
    examples=("quotas get", "quotas get --user alice", "quotas get --client-id '<default>' --strict -o json"),
)
async def get(
    run: Run,
    options: EntityOptions,
    strict: Annotated[bool, Option("Only entities without other parts.")] = False,
) -> Rows[EntityQuotas]:
    """Show the quotas that are set, of all entities or of those with the given parts."""
    quotas = await run.admin.describe_client_quotas(options.entity(), strict=strict)
    return [EntityQuotas(*entity_texts(entity), quotas[entity]) for entity in sorted(quotas, key=str)]


@operation(
    Danger.CHANGES,
    waits=True,
    choices=(NAMED,),
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
    options: EntityOptions,
) -> Rows[QuotaChange]:
    """Set quotas of an entity, and wait until every broker reports them."""
    return await _alter(run, options.entity(), parse_values(quotas), "set")


@operation(
    Danger.DESTROYS,
    waits=True,
    choices=(NAMED,),
    dialects=("kafka",),
    examples=("quotas delete producer_byte_rate --user alice", "quotas delete --client-id '<default>' --yes"),
)
async def delete(
    run: Run,
    keys: Annotated[list[str], Argument("Keys, such as producer_byte_rate [default: all of the entity].", "KEY")],
    options: EntityOptions,
) -> Rows[QuotaChange]:
    """Delete quotas of an entity, and wait until no broker reports them."""
    entity = options.entity()
    existing = (await run.admin.describe_client_quotas(entity, strict=True)).get(entity, {})
    if missing := [key for key in keys if key not in existing]:
        present = f"it has {', '.join(existing)}" if existing else "it has none"
        raise NotFound(f"{entity} has no quota {missing[0]}: {present}")
    if not existing:
        raise NotFound(f"{entity} has no quotas")
    deleted = [*(keys or existing)]
    if not run.dry_run:
        run.confirm(f"Delete {', '.join(f'{key}={existing[key]:.17g}' for key in deleted)} of {entity}?")
    return await _alter(run, entity, dict.fromkeys(deleted), "deleted")


def parse_values(texts: Sequence[str]) -> dict[str, float]:
    """Return quotas from texts such as `producer_byte_rate=1000000`.

    Raises:
        InvalidArgument: a text is not a quota, or a key is given twice.
    """
    for text in texts:
        QUOTA.match(text)
    return {key: float(value) for key, value in parse_configs(texts).items()}


async def _alter(
    run: Run, entity: ClientQuotaEntity, values: Mapping[str, float | None], done: str
) -> Rows[QuotaChange]:
    """Set the quotas of an entity; None deletes one."""
    outcomes = await run.admin.alter_client_quotas({entity: values}, validate_only=run.dry_run)
    error = outcomes[str(entity)]
    if error is not None:
        return [Failure(str(entity), error)]
    if run.wait and not run.dry_run:
        await run.admin.wait_until_client_quotas({entity: values}, timeout=run.wait, on_progress=run.on_progress)
    status = f"would be {done}" if run.dry_run else done
    return [QuotaChange(*entity_texts(entity), key, value, status, outcomes.attempts) for key, value in values.items()]


def entity_texts(entity: ClientQuotaEntity) -> tuple[str | None, str | None, str | None]:
    """Return the texts of user, client id, and IP address."""
    user, client_id, ip = (
        None if name is None else entity_name_text(name) for name in (entity.user, entity.client_id, entity.ip)
    )
    return user, client_id, ip
