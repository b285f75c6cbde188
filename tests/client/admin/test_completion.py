"""Waiting for a change of a cluster that does not respond."""

from __future__ import annotations

import socket

import pytest

from kwire.client.admin.cluster_router import ClusterRouter
from kwire.client.admin.completion import is_created, wait_until
from kwire.client.admin.session import AdminSession
from kwire.client.connection_pool import ConnectionPool
from kwire.protocol import Endpoint, Timeout


async def test_timeout_of_a_request_is_not_the_timeout_of_the_change() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unresponsive:
        broker = Endpoint("127.0.0.1", unresponsive.getsockname()[1])
        router = ClusterRouter((broker,), ConnectionPool(client_id=None, timeout=0.2), timeout=0.2)
        try:
            session = AdminSession(router, "kip4")
            with pytest.raises(Timeout):
                await wait_until(session, "created", {"topic": is_created(None)}, 60.0, None)
        finally:
            await router.close()
