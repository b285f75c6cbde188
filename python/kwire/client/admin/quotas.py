"""Client quotas: describe and alter them (KIP-546).

Examples:
    >>> from kwire.client.admin import ClientQuotaEntity
    >>> alice = ClientQuotaEntity(user="alice")
    >>> admin.alter_client_quotas({alice: {"producer_byte_rate": 1_000_000}}).raise_first()
    >>> admin.wait_until_client_quotas({alice: {"producer_byte_rate": 1_000_000}})
    >>> admin.describe_client_quotas(alice)[alice]
    {'producer_byte_rate': 1000000.0}
    >>> admin.alter_client_quotas({alice: {"producer_byte_rate": None}}).raise_first()
"""

from __future__ import annotations

import re
from enum import Enum

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias
from kwire.client.admin import completion
from kwire.client.admin.answer import error_code, first_error_code
from kwire.client.admin.targets import ANY, BrokerTarget

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Mapping, Sequence

    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.targets import Target
    from kwire.client.admin.values import Outcomes
    from kwire.messages.kafka.describe_client_quotas import ComponentData

EXACT, DEFAULT, ANY_NAME = 0, 1, 2
"""Types of a match of a part of an entity in DescribeClientQuotas."""


class SpecialName(Enum):
    """A name of a part of an entity that is not a text. `ANY` is for filters."""

    DEFAULT = "<default>"
    ANY = "<any>"


EntityName: TypeAlias = str | SpecialName | None
"""The name of a part of an entity; None if the entity has no such part."""
ESCAPED = re.compile(r"\\*<(?:default|any)>")
"""Names that look like the text of a special name. Their text has one more backslash."""


def entity_name_text(name: str | SpecialName) -> str:
    r"""Return the text of a name: `<default>` for the default, and `\<default>` for a user with this name."""
    if isinstance(name, SpecialName):
        return name.value
    return f"\\{name}" if ESCAPED.fullmatch(name) else name


def parse_entity_name(text: str) -> str | SpecialName:
    """Return the name for its text."""
    if text == SpecialName.DEFAULT.value:
        return SpecialName.DEFAULT
    return text.removeprefix("\\") if ESCAPED.fullmatch(text) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQuotaEntity:
    """An entity with quotas: a user, a client id, both, or an IP address.

    `SpecialName.DEFAULT` is the default entity: its quotas apply where no other quotas do.
    """

    user: EntityName = None
    client_id: EntityName = None
    ip: EntityName = None

    def parts(self) -> Iterator[tuple[str, str | SpecialName]]:
        """Return the type of each part on the wire, and its name."""
        for kind, name in (("user", self.user), ("client-id", self.client_id), ("ip", self.ip)):
            if name is not None:
                yield kind, name

    def __str__(self) -> str:
        return ", ".join(f"{kind} {entity_name_text(name)}" for kind, name in self.parts())


async def describe_client_quotas(
    admin: AdminSession, filter: ClientQuotaEntity | None = None, *, strict: bool = False
) -> dict[ClientQuotaEntity, dict[str, float]]:
    """Return the quotas of entities by key, such as `producer_byte_rate` in bytes per second.

    These are the quotas that are set. A client can inherit others.

    Args:
        filter: an entity matches if it has the parts of the filter. `SpecialName.ANY` stands for any name.
            None for all entities.
        strict: True if the entity must not have other parts.

    Raises:
        AdminError: 31 not authorized; 42 the cluster does not support this combination of parts.
    """
    return await _describe_client_quotas(admin, filter, ANY, strict=strict)


async def _describe_client_quotas(
    admin: AdminSession, filter: ClientQuotaEntity | None, target: Target, *, strict: bool
) -> dict[ClientQuotaEntity, dict[str, float]]:
    from kwire.messages.kafka.describe_client_quotas import DescribeClientQuotasRequest

    parts = () if filter is None else filter.parts()
    request = DescribeClientQuotasRequest(
        components=tuple(_component(kind, name) for kind, name in parts), strict=strict
    )
    response = (await admin.router.read(request, target, error_code)).accepted("client quotas")
    return {
        _entity(entry.entity): {value.key: value.value for value in sorted(entry.values, key=lambda value: value.key)}
        for entry in response.entries or ()
    }


async def alter_client_quotas(
    admin: AdminSession, changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
) -> Outcomes:
    """Set and remove quotas. The command is repeated after a lost response, which has the same effect.

    The outcomes are by `str` of the entity. Errors of an entity: 31 not authorized; 42 unknown key, invalid value,
    or invalid entity. Either all changes of an entity are made or none.

    Args:
        changes: values by entity and key, in the unit of the key; None removes a quota.
        validate_only: check the request and change nothing.
    """
    from kwire.messages.kafka.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData

    request = AlterClientQuotasRequest(
        entries=tuple(
            EntryData(
                entity=tuple(
                    EntityData(entity_type=kind, entity_name=None if name is SpecialName.DEFAULT else str(name))
                    for kind, name in entity.parts()
                ),
                ops=tuple(
                    OpData(key=key, value=0.0 if value is None else float(value), remove=value is None)
                    for key, value in values.items()
                ),
            )
            for entity, values in changes.items()
        ),
        validate_only=validate_only,
    )
    answer = await admin.router.command(request, error_code=first_error_code("entries"), repeatable=True)
    return answer.outcomes(
        ((str(_entity(entry.entity)), entry) for entry in answer.response.entries), map(str, changes)
    )


async def wait_until_client_quotas(
    admin: AdminSession,
    expected: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports these quotas. See `wait_until_created` for the other arguments.

    Args:
        expected: values by entity and key; None for a quota that is not set.
    """

    def reported(broker_id: int) -> Awaitable[Mapping[ClientQuotaEntity, Mapping[str, float]]]:
        return _describe_client_quotas(admin, None, BrokerTarget(broker_id), strict=False)

    await completion.wait_for_values(admin.router, expected, reported, timeout, on_progress)


def _component(kind: str, name: str | SpecialName) -> ComponentData:
    from kwire.messages.kafka.describe_client_quotas import ComponentData

    match name:
        case SpecialName.DEFAULT:
            return ComponentData(entity_type=kind, match_type=DEFAULT, match=None)
        case SpecialName.ANY:
            return ComponentData(entity_type=kind, match_type=ANY_NAME, match=None)
    return ComponentData(entity_type=kind, match_type=EXACT, match=name)


def _entity(parts: Sequence[Any]) -> ClientQuotaEntity:
    """Return the entity for its parts in a response."""
    names = {part.entity_type: SpecialName.DEFAULT if part.entity_name is None else part.entity_name for part in parts}
    return ClientQuotaEntity(user=names.get("user"), client_id=names.get("client-id"), ip=names.get("ip"))
