"""Commands for ACLs, quotas, users, and tokens after a lost response: some are repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from kwire._util.secret import Secret
from kwire.client.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AdminClient,
    ClientQuotaEntity,
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    OutcomeUnknown,
    ResourceType,
    ScramMechanismName,
    TopicChange,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kwire.messages.kafka.alter_client_quotas import AlterClientQuotasResponse, EntityData, EntryDataResponse
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kwire.messages.kafka.create_acls import AclCreationResult, CreateAclsResponse
from kwire.messages.kafka.create_topics import CreatableTopicResult, CreateTopicsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.alter_topic_v2 import AlterTopicResponse_V2
from kwire.messages.kip4.structures import TopicResult
from kwire.protocol.scram_passwords import salted_password
from tests.client.admin.scripted_broker import LoseResponse
from tests.client.admin.test_cluster_router import Script, run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.declare import Message


Responses: TypeAlias = "dict[str, list[Message | type[Exception]]]"
READ = AclBinding(
    resource_type=ResourceType.TOPIC, resource_name="t", principal="User:alice", operation=AclOperation.READ
)
UPSERTION = UserScramCredentialUpsertion(user="alice", password=Secret("hidden-text"))
ALTERED = AlterUserScramCredentialsResponse(
    throttle_time_ms=0, results=(AlterUserScramCredentialsResult(user="alice", error_code=0, error_message=None),)
)


@pytest.mark.parametrize(
    ("request_name", "response", "command", "item"),
    [
        (
            "CreateAclsRequest",
            CreateAclsResponse(throttle_time_ms=0, results=(AclCreationResult(error_code=0, error_message=None),)),
            lambda admin: admin.create_acls([READ]),
            "ALLOW READ on LITERAL TOPIC t for User:alice from *",
        ),
        (
            "AlterClientQuotasRequest",
            AlterClientQuotasResponse(
                throttle_time_ms=0,
                entries=(
                    EntryDataResponse(
                        error_code=0,
                        error_message=None,
                        entity=(EntityData(entity_type="user", entity_name="alice"),),
                    ),
                ),
            ),
            lambda admin: admin.alter_client_quotas({ClientQuotaEntity(user="alice"): {"producer_byte_rate": 1.0}}),
            "user alice",
        ),
        (
            "AlterUserScramCredentialsRequest",
            ALTERED,
            lambda admin: admin.alter_user_scram_credentials([UPSERTION]),
            "alice",
        ),
    ],
    ids=["create ACLs", "alter quotas", "set a password"],
)
async def test_harmless_command_is_repeated(
    request_name: str, response: Message, command: Callable[[AdminClient], Awaitable[Any]], item: str
) -> None:
    responses: Responses = {request_name: [LoseResponse, response]}
    outcomes = await run("kafka", Script(**responses), command)

    assert dict(outcomes) == {item: None}
    assert outcomes.attempts == 2


@pytest.mark.parametrize(
    ("request_name", "command"),
    [
        ("DeleteAclsRequest", lambda admin: admin.delete_acls([AclBindingFilter(principal="User:alice")])),
        (
            "AlterUserScramCredentialsRequest",
            lambda admin: admin.alter_user_scram_credentials(
                deletions=[UserScramCredentialDeletion("alice", ScramMechanismName.SCRAM_SHA_512)]
            ),
        ),
        ("CreateDelegationTokenRequest", lambda admin: admin.create_delegation_token()),
        ("RenewDelegationTokenRequest", lambda admin: admin.renew_delegation_token(Secret("aGlkZGVu"))),
        ("ExpireDelegationTokenRequest", lambda admin: admin.expire_delegation_token(Secret("aGlkZGVu"))),
    ],
    ids=["delete ACLs", "delete a password", "create a token", "renew a token", "expire a token"],
)
async def test_other_command_is_sent_once(request_name: str, command: Callable[[AdminClient], Awaitable[Any]]) -> None:
    responses: Responses = {request_name: [LoseResponse]}
    script = Script(**responses)

    with pytest.raises(OutcomeUnknown):
        await run("kafka", script, command)

    assert script.broker is not None
    assert sum(type(received).__name__ == request_name for received in script.broker.received) == 1


async def test_request_with_one_refused_item_is_not_sent_again() -> None:
    """The other topic exists now: a second request would report that it existed before."""
    results = (("a", ErrorCode.NOT_CONTROLLER), ("b", ErrorCode.NONE))
    answer = CreateTopicsResponse(
        topics=tuple(CreatableTopicResult(name=name, error_code=code, error_message=None) for name, code in results)
    )
    topic = NewTopic(partitions=1, replication_factor=1)
    responses: Responses = {"CreateTopicsRequest": [answer]}
    script = Script(**responses)

    outcomes = await run("kafka", script, lambda admin: admin.create_topics({"a": topic, "b": topic}))

    assert {item: error and error.code for item, error in outcomes.items()} == {"a": 41, "b": None}
    assert outcomes.attempts == 1


TOPIC_T = ConfigResource(ConfigResourceType.TOPIC, "t")
EVERY_BROKER = ConfigResource(ConfigResourceType.BROKER, "")
ALTERED_TOPIC = AlterTopicResponse_V2(topics=(TopicResult(topic_name="t", error_code=0),))
CHANGED_SETTING = AdminResponse(error_code=0, exit_status=0, output=b'{"shadowed_by":[]}')


@pytest.mark.parametrize(
    ("request_name", "response", "resource", "change"),
    [
        ("AlterTopicRequest_V2", ALTERED_TOPIC, TOPIC_T, ConfigChange(set={"retention.ms": "5"})),
        ("AlterTopicRequest_V2", ALTERED_TOPIC, TOPIC_T, ConfigChange(delete=["retention.ms"])),
        ("AdminRequest", CHANGED_SETTING, EVERY_BROKER, ConfigChange(set={"num.partitions": "5"})),
        ("AdminRequest", CHANGED_SETTING, EVERY_BROKER, ConfigChange(delete=["num.partitions"])),
    ],
    ids=["set a config", "delete a config", "set a setting", "delete a setting"],
)
async def test_change_of_configs_is_repeated_on_nodes(
    request_name: str, response: Message, resource: ConfigResource, change: ConfigChange
) -> None:
    responses: Responses = {request_name: [LoseResponse, response]}
    outcomes = await run("kip4", Script(**responses), lambda admin: admin.alter_configs({resource: change}))

    assert dict(outcomes) == {str(resource): None}


async def test_change_of_partitions_is_sent_once_to_nodes() -> None:
    change = TopicChange(partitions=2, set_configs={"retention.ms": "5"})
    responses: Responses = {"AlterTopicRequest_V2": [LoseResponse]}

    with pytest.raises(OutcomeUnknown):
        await run("kip4", Script(**responses), lambda admin: admin.alter_topics({"t": change}))


async def test_password_is_salted_before_it_is_sent() -> None:
    script = Script(AlterUserScramCredentialsRequest=[ALTERED])

    await run("kafka", script, lambda admin: admin.alter_user_scram_credentials([UPSERTION]))

    assert script.broker is not None
    [sent] = [received for received in script.broker.received if isinstance(received, AlterUserScramCredentialsRequest)]
    [credential] = sent.upsertions
    expected = salted_password("SCRAM-SHA-512", Secret("hidden-text"), credential.salt, 4096)
    assert (credential.mechanism, credential.iterations, credential.salted_password) == (2, 4096, expected)
    assert len(credential.salt) == 24
