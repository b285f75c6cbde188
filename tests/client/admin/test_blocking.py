"""The admin client without asyncio."""

from __future__ import annotations

from inspect import iscoroutinefunction

from kwire.client.admin import AdminClient, BlockingAdminClient


def test_every_operation_has_a_blocking_counterpart() -> None:
    operations = {name for name in dir(AdminClient) if not name.startswith("_")} - {"open", "router"}
    assert operations <= set(dir(BlockingAdminClient))
    for name in operations:
        if iscoroutinefunction(getattr(AdminClient, name)):
            assert getattr(BlockingAdminClient, name).__doc__
