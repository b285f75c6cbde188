"""Changes of configs on a cluster of Kafka: what guards `set` guards `delete`, and unknown is not none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient, AdminError, ConfigChange, ConfigResource, ConfigResourceType, Outcomes
from kwire.client.admin.config_values import ConfigSource, ConfigValue
from kwire.client.admin.quotas import ClientQuotaEntity, SpecialName, entity_name_text, parse_entity_name
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.testing import FakeCluster
from kwire_admin.operations.config_changes import change_configs
from kwire_admin.operations.parameters import NotFound
from kwire_admin.operations.resources import ConfigsChanged
from kwire_admin.operations.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT = ConfigResource(ConfigResourceType.BROKER, "")
TOPIC = ConfigResource(ConfigResourceType.TOPIC, "orders")


def value(text: str, source: ConfigSource) -> ConfigValue:
    return ConfigValue(text, source, is_sensitive=False, is_read_only=False)


async def changed(
    configs: Mapping[ConfigResource, Mapping[str, ConfigValue] | AdminError],
    resource: ConfigResource,
    change: ConfigChange,
) -> ConfigsChanged:
    """Change configs of a cluster; the fake cluster has no DescribeConfigs for brokers."""

    async def describe(_: object, resources: Iterable[ConfigResource]) -> dict[ConfigResource, Any]:
        return {resource: configs[resource] for resource in resources}

    async def alter(_: object, changes: Mapping[ConfigResource, ConfigChange], **__: bool) -> Outcomes:
        return Outcomes({str(resource): None for resource in changes})

    with FakeCluster(brokers=2) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdminClient, "describe_configs", describe)
        patch.setattr(AdminClient, "alter_configs", alter)
        patch.setattr("kwire.client.admin.config_plans.describe_configs", describe)
        async with await AdminClient.open(cluster.bootstrap) as admin:
            [row] = await change_configs(Run(admin, dry_run=True), resource, change, "changed")
    assert isinstance(row, ConfigsChanged)
    return row


def broker(broker_id: int) -> ConfigResource:
    return ConfigResource(ConfigResourceType.BROKER, str(broker_id))


async def test_default_of_brokers_names_the_brokers_with_a_value_of_their_own() -> None:
    own, inherited = value("5", ConfigSource.BROKER), value("5", ConfigSource.DEFAULT)
    configs = {DEFAULT: {}, broker(1): {"log.retention.ms": inherited}, broker(2): {"log.retention.ms": own}}
    row = await changed(configs, DEFAULT, ConfigChange(set={"log.retention.ms": "7"}))
    assert [str(shadowed) for shadowed in row.shadowed_by] == ["node 2: log.retention.ms=5 (broker)"]
    refused = AdminError.of_kafka(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "broker 2")
    row = await changed({**configs, broker(2): refused}, DEFAULT, ConfigChange(set={"log.retention.ms": "7"}))
    assert [(shadowed.node, shadowed.error) for shadowed in row.shadowed_by] == [(2, "Cluster authorization failed")]


async def test_misspelt_config_is_not_deleted() -> None:
    configs = {TOPIC: {"retention.ms": value("5", ConfigSource.TOPIC), "segment.ms": value("5", ConfigSource.DEFAULT)}}
    with pytest.raises(NotFound, match=r"topic/orders has no config 'retention\.mss': did you mean retention\.ms"):
        await changed(configs, TOPIC, ConfigChange(delete=["retention.mss"]))
    assert (await changed(configs, TOPIC, ConfigChange(delete=["retention.ms"]))).status == "would be changed"
    assert (await changed(configs, TOPIC, ConfigChange(delete=["segment.ms"]))).status == "unchanged: not set"


async def test_user_who_cannot_see_configs_can_delete_them() -> None:
    refused = AdminError.of_kafka(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "orders")
    assert (await changed({TOPIC: refused}, TOPIC, ConfigChange(delete=["any"]))).status == "would be changed"


def test_every_name_of_an_entity_has_a_text_of_its_own() -> None:
    names: list[str | SpecialName] = [SpecialName.DEFAULT, "a", "", "\\a", "<default", "<any>"]
    names += ["<default>", "\\<default>", "\\\\<default>"]
    texts = [entity_name_text(name) for name in names]
    assert len(set(texts)) == len(names)
    assert [parse_entity_name(text) for text in texts] == names
    assert str(ClientQuotaEntity(user=SpecialName.DEFAULT)) != str(ClientQuotaEntity(user="<default>"))
