"""Budgets of the audit: no flood pushes out what others did, or what its author did before."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kwire_cluster.config import audit
from kwire_cluster.config.audit import AUDIT, MAX_ALL_ENTRIES, MAX_AUDIT_ENTRIES, audit_write, read_audit, trim_audit
from kwire_cluster.zookeeper.operations import Create, Delete

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pytest

    from kwire_cluster.zookeeper.store import Store

CREATED = {"partitions": (None, "1")}
DELETED = {"partitions": ("1", None)}


class Znode:
    def __init__(self, data: bytes) -> None:
        self.data = data


class Entries:
    """The znodes of the audit, as far as it uses them."""

    def __init__(self) -> None:
        self.znodes: dict[str, bytes] = {}
        self.number = 0

    @property
    def store(self) -> Store:
        """The same as a store: the audit calls no other methods, and thousands of znodes take no time here."""
        return cast("Store", self)

    def write(self, *writes: Create) -> None:
        for write in writes:
            self.znodes[f"{write.path}{self.number:010}"] = write.data
            self.number += 1

    async def children(self, path: str) -> list[str]:
        assert path == AUDIT
        return [name.rpartition("/")[2] for name in self.znodes]

    async def multi(self, operations: Sequence[Delete]) -> None:
        for operation in operations:
            del self.znodes[operation.path]

    async def get_many(self, paths: Iterable[str]) -> list[Znode | None]:
        return [Znode(self.znodes[path]) if path in self.znodes else None for path in paths]


async def test_a_flood_of_creations_hides_nothing() -> None:
    """Alice deletes a topic, and creates thousands: her deletion, and what others did, is still there."""
    entries = Entries()
    entries.write(*(audit_write("User:admin cli", 1, "topics/orders", {"a": (str(n), "1")}) for n in range(5)))
    entries.write(audit_write("User:alice cli", 1, "topics/orders", DELETED))
    entries.write(audit_write("User:admin cli", 1, "acls/topic", {"acls": (None, "x")}))
    for number in range(5_000):
        entries.write(audit_write(f"User:alice cli-{number}", 1, f"topics/t{number}", CREATED))
        if number % 500 == 0:
            await trim_audit(entries.store)
    await trim_audit(entries.store)
    kept = await read_audit(entries.store, 10, "topics/orders")
    assert [entry.author for entry in kept] == ["User:admin cli"] * 5 + ["User:alice cli"]
    assert len(entries.znodes) == 7 + MAX_AUDIT_ENTRIES


async def test_all_budgets_together_are_bounded() -> None:
    entries = Entries()
    entries.write(*(audit_write("User:small", 1, f"topics/t{n}", CREATED) for n in range(20)))
    for author in range(100):
        entries.write(*(audit_write(f"User:{author}", 1, f"topics/t{n}", CREATED) for n in range(300)))
    await trim_audit(entries.store)
    assert MAX_ALL_ENTRIES - 100 <= len(entries.znodes) <= MAX_ALL_ENTRIES
    kept = await read_audit(entries.store, 100_000)
    assert sum(entry.author == "User:small" for entry in kept) == 20


async def test_an_answer_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_READ_BYTES", 10_000)
    entries = Entries()
    entries.write(*(audit_write("x", 1, f"topics/t{n}", {"a": (None, "y" * 100)}) for n in range(2_000)))
    kept = await read_audit(entries.store, 100_000)
    assert 20 < len(kept) < 100
    assert kept[-1].entity == "topics/t1999", "the newest are the answer"
    assert [entry.entity for entry in kept] == sorted(entry.entity for entry in kept)
    two = await read_audit(entries.store, 2)
    assert [entry.entity for entry in two] == ["topics/t1998", "topics/t1999"]
