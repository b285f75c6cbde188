"""Plans of changes on real Kafka: an operation with `validate_only` answers what it does without, or raises the same.

Each change is planned and made by two users: one that may do everything, and one that may only look at the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import confluent_kafka
import pytest

from kwire.client import Endpoint
from kwire.client.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AdminClient,
    AdminError,
    NewTopic,
    PatternType,
    ResourceType,
    ScramMechanismName,
    TopicPartition,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kwire.client.security import Secret
from kwire.protocol.errors import NoCommonVersion
from tests.operations.verbs.dry_runs import check_case, run_case

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

pytestmark = pytest.mark.change

SHA_256, SHA_512 = ScramMechanismName.SCRAM_SHA_256, ScramMechanismName.SCRAM_SHA_512
INVALID_REQUEST, UNKNOWN_SERVER_ERROR = 42, -1
DIRECTORY = UUID(int=9)
LISTENERS = {"CONTROLLER": Endpoint("127.0.0.1", 1)}


class PlannedChange(NamedTuple):
    """A change: the name of its operation, and the arguments."""

    operation: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}


def read(name: str, **changes: Any) -> AclBinding:
    return AclBinding(
        **{
            "resource_type": ResourceType.TOPIC,
            "resource_name": name,
            "principal": "User:planner",
            "operation": AclOperation.READ,
            **changes,
        }
    )


def password(
    user: str, mechanism: ScramMechanismName = SHA_512, iterations: int = 4096
) -> UserScramCredentialUpsertion:
    return UserScramCredentialUpsertion(
        user=user, password=Secret("correct horse"), mechanism=mechanism, iterations=iterations
    )


def deletion(*credentials: tuple[str, ScramMechanismName]) -> PlannedChange:
    deletions = [UserScramCredentialDeletion(*credential) for credential in credentials]
    return PlannedChange("alter_user_scram_credentials", (), {"deletions": deletions})


PLANNED = TopicPartition("planned", 0)
CHANGES = (
    PlannedChange("create_acls", ([read("planned")],)),
    PlannedChange("create_acls", ([read("planned"), read(""), read("other", principal="planner")],)),
    PlannedChange("create_acls", ([read("x", pattern_type=PatternType.MATCH), read("x", operation=AclOperation.ANY)],)),
    PlannedChange("create_acls", ([read("other", resource_type=ResourceType.CLUSTER)],)),
    PlannedChange("delete_acls", ([AclBindingFilter(resource_name="nosuch"), AclBindingFilter(host="9.9.9.9")],)),
    PlannedChange("delete_acls", ([AclBindingFilter(principal="User:planner"), read("nosuch").exact_filter()],)),
    PlannedChange("alter_user_scram_credentials", ([password("plan"), password("plan2", SHA_256)],)),
    PlannedChange("alter_user_scram_credentials", ([password("plan", iterations=16385), password("plan2")],)),
    PlannedChange("alter_user_scram_credentials", ([password("plan"), password("plan")],)),
    deletion(("plan", SHA_256)),
    deletion(("nosuch", SHA_256), ("plan", SHA_512)),
    deletion(("plan", SHA_512)),
    deletion(("plan2", SHA_512), ("plan2", SHA_256)),
    deletion(("plan2", SHA_256)),
    deletion(("plan2", SHA_512)),  # other tests list the users of the cluster
    PlannedChange("delete_records", ({PLANNED: 3, TopicPartition("planned", 9): 0, TopicPartition("nosuch", 0): 0},)),
    PlannedChange("delete_records", ({PLANNED: 99, TopicPartition("planned-compact", 0): 0},)),
    PlannedChange("delete_records", ({PLANNED: -1},)),
    PlannedChange("delete_records", ({PLANNED: 2},)),
    PlannedChange("renew_delegation_token", (Secret("bm9zdWNo"),)),
    PlannedChange("expire_delegation_token", (Secret("bm9zdWNo"),)),
    PlannedChange("unregister_broker", (99,)),
    PlannedChange("add_raft_voter", (9, DIRECTORY, LISTENERS)),
    PlannedChange("add_raft_voter", (9, DIRECTORY, LISTENERS), {"cluster_id": "other"}),
    PlannedChange("remove_raft_voter", (9, DIRECTORY)),
    PlannedChange("elect_leaders", ({"planned": [0, 9], "nosuch": [0]},)),
    PlannedChange("elect_leaders", ({"planned": [], "nosuch": []},)),
    PlannedChange("reassign_partitions", ({"planned": {0: [99]}},)),
    PlannedChange("cancel_reassignments", ({"planned": [0]},)),
    PlannedChange("delete_groups", (["nosuch"],)),
)


async def test_plan_of_a_change_is_what_the_change_answers(secured: KafkaCluster, security: ClusterSecurity) -> None:
    async with (
        await AdminClient.open(secured.bootstrap, config=security.config("SCRAM-SHA-512")) as admin,
        await AdminClient.open(secured.bootstrap, config=security.config("PLAIN", user="alice")) as alice,
    ):
        await _fill(admin, secured, security)
        differences = []
        refused = accepted = 0
        for client in (alice, admin):
            for change in CHANGES:
                plan = await _answer(getattr(client, change.operation), change, validate_only=True)
                real = await _answer(getattr(client, change.operation), change)
                if plan != real:
                    user = "admin" if client is admin else "alice"
                    differences.append(f"{user}: {change.operation}{change.arguments}: {plan}, but {real}")
                is_refused = any(isinstance(result, int) for result in real.values())
                refused, accepted = refused + is_refused, accepted + (not is_refused)
        assert not differences, "\n".join(differences)
        assert min(refused, accepted) > 6


async def test_dry_run_of_a_document_says_which_acls_are_refused(
    secured44: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    acl = {"resource_type": "TOPIC", "resource_name": "declared", "principal": "User:planner", "operation": "READ"}
    (tmp_path / "acls.json").write_text(json.dumps({"kwire": 1, "acls": [acl]}), encoding="utf-8")
    seen = [
        AclBinding(
            resource_type=ResourceType.CLUSTER,
            resource_name="kafka-cluster",
            principal="User:alice",
            operation=operation,
        )
        for operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    ]
    async with (
        await AdminClient.open(secured44.bootstrap, config=security.config("SCRAM-SHA-512")) as admin,
        await AdminClient.open(secured44.bootstrap, config=security.config("PLAIN", user="alice")) as alice,
    ):
        (await admin.create_acls(seen)).raise_first()
        await admin.wait_until_acls(created=seen)
        for dry_run in (True, False):
            result = await run_case(alice, "configs apply {folder}/acls.json", {"folder": tmp_path}, dry_run=dry_run)
            assert result.is_refused, result
            assert "this needs Alter on the cluster" in f"{result.rows} {result.error}", result
        case = "configs apply {folder}/acls.json"
        assert not (await check_case(admin, case, {"folder": tmp_path})).is_refused


async def _fill(admin: AdminClient, cluster: KafkaCluster, security: ClusterSecurity) -> None:
    """Create the topics with records, and let alice see everything."""
    topics = {
        "planned": NewTopic(partitions=1, replication_factor=1),
        "planned-compact": NewTopic(partitions=1, replication_factor=1, configs={"cleanup.policy": "compact"}),
    }
    (await admin.create_topics(topics)).raise_first()
    await admin.wait_until_created(topics)
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "admin",
            "sasl.password": security.users["admin"].reveal(),
            "ssl.ca.pem": security.authority.certificate,
        }
    )
    for number in range(5):
        producer.produce("planned", str(number).encode())
    producer.flush(30)
    seen = [
        AclBinding(resource_type=kind, resource_name=name, principal="User:alice", operation=operation)
        for kind, name in (
            (ResourceType.CLUSTER, "kafka-cluster"),
            (ResourceType.TOPIC, "*"),
            (ResourceType.GROUP, "*"),
        )
        for operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    ]
    seen += [
        AclBinding(resource_type=kind, resource_name="*", principal="User:alice", operation=AclOperation.DELETE)
        for kind in (ResourceType.TOPIC, ResourceType.GROUP)
    ]
    (await admin.create_acls(seen)).raise_first()
    await admin.wait_until_acls(created=seen)


async def _answer(
    operation: Callable[..., Awaitable[Any]], change: PlannedChange, **options: Any
) -> dict[object, object]:
    """Return what a change answers for each item: the code of an error, or its result; "" stands for the whole."""
    try:
        result = await operation(*change.arguments, **change.options, **options)
    except AdminError as error:
        return {"": error.code}
    except NoCommonVersion as error:
        return {"": type(error).__name__}
    return {item: _comparable(of_item) for item, of_item in result.items()} if isinstance(result, Mapping) else {}


def _comparable(result: Any) -> object:
    if isinstance(result, AdminError):
        # Kafka fails to read an enumeration with a value for filters, and calls that an unknown error of the server.
        return INVALID_REQUEST if result.code == UNKNOWN_SERVER_ERROR else int(result.code)
    return tuple(sorted(map(str, result))) if isinstance(result, dict) else str(result)
