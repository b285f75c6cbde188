"""A client for dry runs of tools: it answers changes as the cluster would, and makes none.

A tool runs as always, with its checks, its lines, and its exit status; its requests are only validated. An operation
that cannot be validated is refused, so a dry run never says more than it knows.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from kwire.client.admin.errors import NotSupported

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient

__all__ = ["DryRunClient"]

READING = (
    *("active_", "describe_", "export_", "find_", "group_lags", "list_", "lowest_", "may_", "plan_"),
    *("recorded_", "registered_"),
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
        if name.startswith("wait_"):
            return _no_wait
        operation = getattr(self._admin, name)
        if name.startswith(READING) or name in ATTRIBUTES:
            return operation
        if "validate_only" not in signature(operation).parameters:
            raise NotSupported("a dry run", f"{name} cannot be checked without being done")
        # Also for a tool with a dry run of its own, which passes the argument.
        return lambda *arguments, **options: operation(*arguments, **{**options, "validate_only": True})


async def _no_wait(*_: Any, **__: Any) -> None:
    """Wait for nothing: no change was made."""
