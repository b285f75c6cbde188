"""Client quotas in command lines: entities, values, and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire._util.light_dataclasses import dataclass, field
from kwire.client.admin import ClientQuotaEntity, EntityName, Outcomes
from kwire.client.admin.quotas import entity_name_text, parse_entity_name
from kwire_admin.operations.declaration import Failure, Rows
from kwire_admin.operations.parameters import Syntax, parse_configs
from kwire_admin.operations.rows import column

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
