"""The admin client without asyncio."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from kwire.client.admin import AdminClient, BlockingAdminClient, NewTopic
from kwire.client.loop_thread import LoopThreadClosed
from kwire.testing import FakeCluster
from scripts.stubs import BLOCKING_ADMIN_CLIENT, stub, stub_path


def test_every_operation_has_a_blocking_counterpart() -> None:
    operations = {name for name in dir(AdminClient) if not name.startswith("_")} - {"open", "router"}
    assert operations <= set(dir(BlockingAdminClient))
    for name in operations:
        operation: Any = getattr(AdminClient, name)
        if inspect.iscoroutinefunction(operation):
            assert not inspect.iscoroutinefunction(getattr(BlockingAdminClient, name))
            assert getattr(BlockingAdminClient, name).__doc__


def test_stub_of_the_blocking_client_is_current() -> None:
    text = stub(BLOCKING_ADMIN_CLIENT)
    assert stub_path(BLOCKING_ADMIN_CLIENT).read_text("utf-8") == text, "run make stubs"
    assert "    create_topics = blocking(AdminClient.create_topics)\n" in text


def test_operations_wait_for_their_results() -> None:
    with FakeCluster(1, topics=2) as cluster, BlockingAdminClient(cluster.bootstrap) as admin:
        assert admin.list_topics() == ["topic-00000", "topic-00001"]
        assert admin.dialect == "kafka"
        with pytest.raises(TypeError, match="expected several strings"):
            admin.delete_topics("topic-00000")
    with pytest.raises(LoopThreadClosed):
        admin.create_topics({"t": NewTopic(partitions=1)})
    admin.close()
