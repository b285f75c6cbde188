"""A client for dry runs of tools: it answers changes as the cluster would, and makes none.

A tool runs as always, with its checks, its lines, and its exit status; only its requests differ. What cannot be checked
without being done is refused, so a dry run never says more than it knows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kwire.client.admin.errors import NotSupported

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient

__all__ = ["DryRunClient"]

VALIDATED = frozenset(
    {
        "alter_client_quotas",
        "alter_configs",
        "alter_topics",
        "cancel_reassignments",
        "create_topics",
        "delete_topics",
        "elect_leaders",
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
    "plan_",
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


async def _no_wait(*_: Any, **__: Any) -> None:
    """Wait for nothing: no change was made."""
