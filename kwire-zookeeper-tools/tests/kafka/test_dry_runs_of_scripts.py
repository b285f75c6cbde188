"""Dry runs of all changing scripts on real Kafka, with arguments at random, are their real runs without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AclBindingFilter, AdminClient, NewTopic, TopicPartition, UserScramCredentialDeletion
from tests.eventually import eventually
from tests.real_kafka import Kafka39, Kafka44
from tests.zookeeper_tools.script_dry_runs import FORMS, differences, generated_lines, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

OF_SECURITY = tuple(form for form in FORMS if form.startswith(("kafka-acls", "kafka-delegation")) or "users" in form)


@pytest.mark.parametrize("kind", [Kafka39, Kafka44], ids=["3.9.1", "4.4.0"])
async def test_dry_run_of_a_script_is_its_real_run(kind: type[KafkaCluster], tmp_path: Path) -> None:
    write_files(tmp_path)
    # A cluster of its own: the lines change configs of all brokers.
    with kind() as cluster:
        async with await AdminClient.open(cluster.bootstrap) as admin:
            topics = {name: NewTopic(partitions=2, replication_factor=1) for name in ("dry", "spare")}
            (await admin.create_topics(topics)).raise_first()
            await admin.wait_until_created(topics)

            async def committed() -> Any:
                return not (await admin.alter_group_offsets("idle", {TopicPartition("dry", 0): 0})).errors

            await eventually(committed, "the group has an offset")
            found, ended = await differences(admin, generated_lines(1, 3), tmp_path)
    assert not found, "\n".join(found)
    assert min(ended.values()) > 20, ended


async def test_dry_run_of_a_script_of_security_is_its_real_run(
    secured44: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    write_files(tmp_path)
    async with await AdminClient.open(secured44.bootstrap, config=security.config("SCRAM-SHA-512")) as admin:
        try:
            found, ended = await differences(admin, generated_lines(1, 6, OF_SECURITY), tmp_path)
        finally:
            for principal in ("User:dry", "User:other"):
                await admin.delete_acls([AclBindingFilter(principal=principal)])
            described = await admin.describe_user_scram_credentials()
            left = [
                UserScramCredentialDeletion(user, credential.mechanism)
                for user, credentials in described.items()
                if user.startswith("fresh") and isinstance(credentials, tuple)
                for credential in credentials
            ]
            await admin.alter_user_scram_credentials(deletions=left)
    assert not found, "\n".join(found)
    assert min(ended.values()) > 10, ended


async def test_dry_run_of_unregister_is_its_real_run(tmp_path: Path) -> None:
    """Of a broker that no cluster has, of a stopped one, twice, and of a running one, which ends as a broker."""
    with Kafka44(brokers=3) as cluster:
        async with await AdminClient.open(cluster.brokers[0].endpoint) as admin:
            cluster.brokers[2].stop()
            lines = [f"kafka-cluster unregister --id {id}" for id in (99, 3, 3, 2)]
            found, ended = await differences(admin, lines, tmp_path)
    assert not found, "\n".join(found)
    assert ended == {"done": 2, "refused": 2}
