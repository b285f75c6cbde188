"""Requests in the versions of every release: what an old version lacks is left out, or named as not supported.

The brokers list the versions of a release and answer some requests. They close the connection at the others, so that a
request counts once it is encoded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client import AdminClient
from kwire.client.admin import (
    EARLIEST,
    LATEST,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    GroupLag,
    NewTopic,
    NotSupported,
    PatternType,
    ResourceType,
    TopicChange,
    TopicPartition,
)
from kwire.client.admin.acls import _with_literal_filter, _with_literal_filters, _with_literal_names
from kwire.errors import EncodeError, KwireError
from kwire.messages.kafka.create_acls import AclCreation, CreateAclsRequest
from kwire.messages.kafka.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kwire.messages.kafka.describe_acls import DescribeAclsRequest
from kwire.releases import release
from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

RELEASES = ("0.11", "1.0", "1.1", "2.0", "2.3", "2.4", "2.6", "2.8", "3.3", "3.9", "4.4")
ORDERS = TopicPartition("orders", 0)
TOPIC = ConfigResource(ConfigResourceType.TOPIC, "orders")
ACL = AclBinding(
    resource_type=ResourceType.TOPIC, resource_name="orders", principal="User:a", operation=AclOperation.READ
)


@pytest.fixture(params=RELEASES)
def cluster(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 100, 1: 100})
        cluster.set_group("billing", {"orders": {0: 40, 1: 60}})
        cluster.set_group("shipping", {"orders": {0: 100, 1: 90}})
        for key in range(100):
            cluster.set_api_versions(key, 0, -1)
        for key, (lowest, highest) in release(request.param).versions.items():
            cluster.set_api_versions(key, lowest, highest)
        yield cluster


def operations(admin: AdminClient) -> Iterator[Awaitable[Any]]:
    yield admin.describe_cluster()
    yield admin.list_topics()
    yield admin.describe_topics(["orders"])
    yield admin.create_topics({"x": NewTopic(partitions=1, replication_factor=1)})
    yield admin.alter_topics({"orders": TopicChange(partitions=5)})
    yield admin.delete_topics(["orders"])
    yield admin.describe_configs([TOPIC])
    yield admin.alter_configs({TOPIC: ConfigChange(set={"retention.ms": "1"})})
    yield admin.list_groups()
    yield admin.describe_groups(["billing"])
    yield admin.list_group_offsets(["billing", "shipping"])
    yield admin.alter_group_offsets("billing", {ORDERS: 5})
    yield admin.delete_group_offsets("billing", [ORDERS])
    yield admin.delete_groups(["billing", "shipping"])
    yield admin.list_offsets({ORDERS: LATEST})
    yield admin.list_offsets({ORDERS: EARLIEST})
    yield admin.delete_records({ORDERS: 1})
    yield admin.describe_acls(AclBindingFilter())
    yield admin.create_acls([ACL])
    yield admin.create_acls([replace(ACL, pattern_type=PatternType.PREFIXED)])
    yield admin.delete_acls([AclBindingFilter()])
    yield admin.elect_leaders()
    yield admin.describe_log_dirs()
    yield admin.describe_producers([ORDERS])
    yield admin.describe_transactions(["t"])
    yield admin.list_transactions()
    yield admin.describe_delegation_tokens()
    yield admin.create_delegation_token()


async def test_no_request_has_what_the_version_of_the_broker_lacks(cluster: FakeCluster) -> None:
    async with await AdminClient.open(cluster.bootstrap, timeout=10) as admin:
        admin.router.timeout = 0.05  # of requests at which the broker closes the connection
        for operation in operations(admin):
            try:
                await operation
            except EncodeError as error:
                pytest.fail(f"{operation}: {error}")
            except KwireError:
                pass  # the broker does not have it, or has closed the connection


async def test_lag_of_groups_is_known_in_every_release(cluster: FakeCluster) -> None:
    async with await AdminClient.open(cluster.bootstrap, timeout=10) as admin:
        lags = await admin.group_lags(["billing", "shipping"])

    totals = {group: lag.total for group, lag in lags.items() if isinstance(lag, GroupLag)}
    assert totals == {"billing": 100, "shipping": 10}


@pytest.mark.parametrize("version", [0, 1, 3])
@pytest.mark.parametrize("pattern", [PatternType.ANY, PatternType.LITERAL, PatternType.MATCH, PatternType.PREFIXED])
def test_acls_are_literal_before_kafka_2(version: int, pattern: PatternType) -> None:
    any_of: dict[str, Any] = {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    filter_fields = {"resource_type_filter": 1, "resource_name_filter": None, **any_of}
    describe = DescribeAclsRequest(pattern_type_filter=pattern.code, **filter_fields)
    delete = DeleteAclsRequest(filters=(DeleteAclsFilter(pattern_type_filter=pattern.code, **filter_fields),))
    creation = AclCreation(
        resource_type=2,
        resource_name="t",
        resource_pattern_type=pattern.code,
        principal="User:a",
        host="*",
        operation=3,
        permission_type=3,
    )
    create = CreateAclsRequest(creations=(creation,))
    if version == 0 and pattern in (PatternType.MATCH, PatternType.PREFIXED):
        for call in (
            lambda: _with_literal_filter(describe, 0),
            lambda: _with_literal_filters(delete, 0),
            lambda: _with_literal_names(create, 0),
        ):
            with pytest.raises(NotSupported, match=r"before Kafka 2\.0 have literal names only"):
                call()
        return
    expected = PatternType.LITERAL.code if version == 0 else pattern.code
    assert _with_literal_filter(describe, version).pattern_type_filter == expected
    assert _with_literal_filters(delete, version).filters[0].pattern_type_filter == expected
    assert _with_literal_names(create, version) == create
