"""Responses that are not awaited any more, because an earlier request of the same caller has failed."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from kwire_cluster.zookeeper.errors import NoNode
from tests.cluster.zookeeper.ensembles import TwoSessions

if TYPE_CHECKING:
    from tests.cluster.zookeeper.ensembles import Ensemble


async def test_errors_of_pipelined_requests_are_not_reported_as_lost(ensemble: Ensemble) -> None:
    """Each was logged as `Future exception was never retrieved` when a connection ended."""
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    async with TwoSessions(ensemble) as (store, _):
        pending: list[asyncio.Future[Any]] = [store.get("/none"), store.set("/none", b""), store.children("/none")]
        with pytest.raises(NoNode):
            await pending[0]
        await asyncio.wait(pending)
        del pending
        gc.collect()
        await asyncio.sleep(0)
    assert not reported
