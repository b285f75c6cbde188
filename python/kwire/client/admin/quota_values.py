"""Client quotas: the entities that have them (KIP-546)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ClientQuotaEntity", "EntityName", "SpecialName"]


class SpecialName(Enum):
    """A name of a part of an entity that is not a text. `ANY` is for filters."""

    DEFAULT = "<default>"
    ANY = "<any>"


EntityName: TypeAlias = str | SpecialName | None
"""The name of a part of an entity; None if the entity has no such part."""


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
        texts = (f"{kind} {name.value if isinstance(name, SpecialName) else name}" for kind, name in self.parts())
        return ", ".join(texts)
