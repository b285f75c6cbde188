"""An incident while it is being put together, and its name for ever."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(slots=True)
class Incident:
    """One thing that was done to a cluster or happened to it."""

    kind: str
    cause: str
    began_at: int
    """Microseconds since 1970: the last moment at which the first witness still told otherwise."""
    first_sign_at: int
    first_sign: str
    broker_id: int | None = None
    ended_at: int | None = None
    """When the last sign of it was gone; None while there is one."""
    topics: set[str] = field(default_factory=set)
    partitions: int = 0
    under_replicated: int = 0
    offline: int = 0
    electing: int = 0
    leaders_moved: int = 0
    seen_at: dict[str, int] = field(default_factory=dict)
    """The first time of each sign."""
    caused_by: Incident | None = None
    attributes: dict[str, str] = field(default_factory=dict)

    def sign(self, name: str, at: int) -> None:
        """Notes a sign, unless it was seen earlier."""
        if at < self.seen_at.get(name, at + 1):
            self.seen_at[name] = at

    def id(self, cluster_id: str) -> str:
        """Twelve hexadecimal digits: the same for the same happening, however often gold is built."""
        subject = self.broker_id if self.broker_id is not None else min(self.topics, default="")
        text = f"{cluster_id}\0{self.kind}\0{subject}\0{self.first_sign_at}\0{self.attributes.get('scope', '')}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def covers(self, at: int, margin: int) -> bool:
        """Whether something at a time may have to do with it."""
        return self.began_at - margin <= at and (self.ended_at is None or at <= self.ended_at + margin)
