"""A client for dry runs of tools: it answers changes as the cluster would, and makes none.

A tool runs as always, with its checks, its lines, and its exit status; only its requests differ. What cannot be checked
without being done is refused, so a dry run never says more than it knows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kwire.client.admin import AdminError, Outcomes
from kwire.client.admin.errors import NotSupported
from kwire_admin.operations.elections import check_election
from kwire_admin.operations.verbs.group_offsets import error_if_active

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin import AdminClient, TopicPartition

__all__ = ["DryRunClient"]

VALIDATED = frozenset(
    {
        "alter_client_quotas",
        "alter_configs",
        "alter_topics",
        "cancel_reassignments",
        "create_topics",
        "delete_topics",
        "reassign_partitions",
        "update_features",
    }
)
"""Operations with `validate_only`."""
READING = (
    "describe_",
    "list_",
    "find_",
    "may_",
    "export_",
    "group_lags",
    "lowest_",
    "active_",
    "registered_",
    "recorded_",
)
"""Beginnings of the names of operations that change nothing."""
ATTRIBUTES = frozenset({"backend", "close", "commands", "dialect", "open_another"})


class DryRunClient:
    """An `AdminClient` whose changes are only validated.

    Args:
        admin: the client of the cluster.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def __getattr__(self, name: str) -> Any:
        if name in VALIDATED:
            return partial(getattr(self._admin, name), validate_only=True)
        if name.startswith("wait_"):
            return _no_wait
        if name.startswith(READING) or name in ATTRIBUTES:
            return getattr(self._admin, name)
        raise NotSupported("a dry run", f"{name} cannot be checked without being done")

    async def update_features(self, updates: Any, *, validate_only: bool = True, **options: Any) -> Any:
        """Check an update, also if the tool has a dry run of its own."""
        del validate_only
        return await self._admin.update_features(updates, validate_only=True, **options)

    async def elect_leaders(
        self, partitions: Mapping[str, Sequence[int]] | None = None, *, unclean: bool = False
    ) -> Outcomes:
        """Return the outcome of an election, by partition."""
        named = None if partitions is None else {topic: list(ids) for topic, ids in partitions.items()}
        checked, unneeded = await check_election(self._admin, named, unclean=unclean)
        return Outcomes({**checked, **dict.fromkeys(unneeded)})

    async def delete_groups(self, group_ids: Iterable[str]) -> Outcomes:
        """Return the outcome of a deletion, by group."""
        described = await self._admin.describe_groups(group_ids)
        return Outcomes({name: error_if_active(group) for name, group in described.items()})

    async def alter_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> Outcomes:
        """Return the outcome of a commit, by partition."""
        return await self._for_group(group_id, offsets)

    async def delete_group_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> Outcomes:
        """Return the outcome of a deletion, by partition."""
        return await self._for_group(group_id, partitions)

    async def _for_group(self, group_id: str, partitions: Iterable[TopicPartition]) -> Outcomes:
        group = (await self._admin.describe_groups([group_id]))[group_id]
        error: AdminError | None = None if isinstance(group, AdminError) else error_if_active(group)
        return Outcomes(dict.fromkeys(map(str, partitions), error))


async def _no_wait(*_: Any, **__: Any) -> None:
    """Wait for nothing: no change was made."""
