"""Client quotas in command lines: entities, values, and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kwire.client.admin import ClientQuotaEntity, EntityName, Outcomes, SpecialName
from kwire.operations.declaration import Failure, Rows
from kwire.operations.parameters import Syntax, parse_configs

DEFAULT_HELP = "'<default>' is the default entity"
"""The default entity in the help of options."""
QUOTA = Syntax(
    r"[^=]+=-?[0-9]{1,15}(?:\.[0-9]{1,9})?(?:[eE][+-]?[0-9]{1,2})?",
    "a quota: write a key and a number, such as producer_byte_rate=1000",
)


@dataclass(frozen=True, slots=True)
class EntityQuotas:
    """An entity with its quotas.

    Attributes:
        user: the user; None if the entity has none, and `<default>` for the default entity.
        client_id: the client id. See `user`.
        ip: the IP address. See `user`.
        quotas: values by key.
    """

    user: EntityName
    client_id: EntityName
    ip: EntityName
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

    user: EntityName
    client_id: EntityName
    ip: EntityName
    key: str
    value: float | None
    status: str
    attempts: int


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
    return [
        QuotaChange(entity.user, entity.client_id, entity.ip, key, value, status, outcomes.attempts)
        for key, value in values.items()
    ]


def _name(text: str | None) -> EntityName:
    return SpecialName.DEFAULT if text == SpecialName.DEFAULT.value else text
