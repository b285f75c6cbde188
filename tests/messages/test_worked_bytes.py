"""Bodies derived by hand from the drafts.

The drafts of KIP-4 and KIP-584 never shipped, so there is no Kafka release to compare with. The bodies were written
from the documents alone, before the codec. Each case has the bytes and the message that they must decode to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

import kwire
from kwire import DecodeError, reference
from kwire.messages.kafka import api_versions as shipped
from kwire.messages.kip4.alter_topic import AlterTopicRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, AlterTopicResponse_V2, TopicAlteration
from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse
from kwire.messages.kip4.create_topic import CreateTopicRequest, CreateTopicResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicResponse_V2
from kwire.messages.kip4.describe_topic import (
    DescribeTopicResponse,
    TopicConfigDetails,
    TopicDescription,
    TopicPartitionDetails,
)
from kwire.messages.kip4.error_codes import ErrorCode, not_controller_text
from kwire.messages.kip4.list_topics import ListTopicsResponse, TopicsList
from kwire.messages.kip4.preferred_replica_leader_election import (
    PreferredReplicaLeaderElectionRequest,
    TopicPartitions,
)
from kwire.messages.kip4.structures import Broker, ConfigEntry, PartitionReplicas, TopicResult
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata, ReplicaLag, TopicMetadata, TopicMetadataResponse_V1
from kwire.messages.kip584.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeature, SupportedFeature
from kwire.messages.kip584.update_features import Feature, FeatureUpdate, UpdateFeaturesRequest
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from types import ModuleType

    from kwire.declare import Message


class Case(NamedTuple):
    """A body and its message."""

    name: str
    version: int
    body: str
    message: Message


THE_BROKER = Broker(node_id=1, host="h1", port=9092)
A_IS_B = ConfigEntry(config_key="a", config_value="b")
STARTED = (TopicResult(topic_name="t", error_code=ErrorCode.NO_ERROR),)
STARTED_BODY = "00 00 00 01 00 01 74 00 00"

CASES = [
    Case(
        "cluster metadata with a controller",
        0,
        "00 00 00 00 00 01 00 00 00 01 00 02 68 31 00 00 23 84 01 00 00 00 01 00 02 68 31 00 00 23 84",
        ClusterMetadataResponse(error_code=0, brokers=(THE_BROKER,), controller=THE_BROKER),
    ),
    Case(
        "cluster metadata without a controller",
        0,
        "00 00 00 00 00 01 00 00 00 01 00 02 68 31 00 00 23 84 00",
        ClusterMetadataResponse(error_code=0, brokers=(THE_BROKER,), controller=None),
    ),
    Case(
        "create topic, the older draft: settings are key=value",
        0,
        "00 01 74 01 00 00 00 02 01 00 00 00 01 00 00 00 00 01 00 03 61 3d 62",
        CreateTopicRequest(topic_name="t", partitions=2, replicas=1, configs=("a=b",)),
    ),
    Case(
        "create topic, the newer draft: settings are pairs",
        1,
        "00 01 74 01 00 00 00 02 01 00 00 00 01 00 00 00 00 01 00 01 61 00 01 62",
        CreateTopicRequest(topic_name="t", partitions=2, replicas=1, config_entries=(A_IS_B,)),
    ),
    Case(
        "create topic by an assignment alone",
        1,
        "00 01 74 00 00 01 00 07 31 3a 32 2c 32 3a 31 00 00 00 00",
        CreateTopicRequest(topic_name="t", replica_assignment="1:2,2:1"),
    ),
    Case(
        "create topic, sent to a broker that is not the controller",
        1,
        "00 16 01 00 38 54 61 72 67 65 74 20 62 72 6f 6b 65 72 20 28 69 64 3d 31 29 20 69 73 20 6e 6f 74 20 73 65 72 76"
        "69 6e 67 20 61 20 63 6f 6e 74 72 6f 6c 6c 65 72 27 73 20 72 6f 6c 65 2e",
        CreateTopicResponse(
            error_code=ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST, error_description=not_controller_text(1)
        ),
    ),
    Case(
        "alter topic: more partitions, one setting more, one less",
        1,
        "00 01 74 01 00 00 00 04 00 00 00 00 01 00 01 61 00 01 62 00 00 00 01 00 01 63",
        AlterTopicRequest(topic_name="t", partitions=4, added_config_entries=(A_IS_B,), deleted_configs=("c",)),
    ),
    Case(
        "describe topic",
        1,
        "00 00 00 01 00 01 74 00 00 00 01 00 00 00 02 00 00 00 01 00 01 61 00 01 62 00 00 00 01 00 00 00 00 01 00 00 00"
        "01 00 00 00 02 00 00 00 01 00 00 00 02 00 00 00 01 00 00 00 01",
        DescribeTopicResponse(
            error_code=0,
            topic_description=TopicDescription(
                topic_name="t",
                topic_config_details=TopicConfigDetails(partitions=1, replication_factor=2, config_entries=(A_IS_B,)),
                topic_partition_details=(TopicPartitionDetails(partition_id=0, leader=1, replicas=(1, 2), isr=(1,)),),
            ),
        ),
    ),
    Case(
        "list topics, the older draft: doomed and alive ones",
        0,
        "00 00 00 01 00 00 00 01 00 01 64 00 00 00 01 00 01 74",
        ListTopicsResponse(
            error_code=0, topics_list=TopicsList(topics_marked_for_deletion=("d",), alive_topics=("t",))
        ),
    ),
    Case(
        "list topics, the newer draft: one list",
        1,
        "00 00 00 01 00 00 00 01 00 01 74",
        ListTopicsResponse(error_code=0, topics_list=TopicsList(topic_names=("t",))),
    ),
    Case(
        "create topics in a batch, by an assignment",
        2,
        "00 00 00 01 00 01 74 ff ff ff ff ff ff ff ff 00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 02 00 00"
        "00 01 00 01 61 00 01 62",
        CreateTopicRequest_V2(
            topics=(
                TopicCreation(
                    topic_name="t",
                    partitions=-1,
                    replication_factor=-1,
                    replica_assignment=(PartitionReplicas(partition_id=0, replica_ids=(1, 2)),),
                    config_entries=(A_IS_B,),
                ),
            )
        ),
    ),
    Case(
        "alter topics in a batch",
        2,
        "00 00 00 01 00 01 74 00 00 00 04 ff ff ff ff 00 00 00 00 00 00 00 01 00 01 61 00 01 62 00 00 00 01 00 01 63",
        AlterTopicRequest_V2(
            topics=(
                TopicAlteration(topic_name="t", partitions=4, added_config_entries=(A_IS_B,), deleted_configs=("c",)),
            )
        ),
    ),
    Case("response to a batch of creations", 2, STARTED_BODY, CreateTopicResponse_V2(topics=STARTED)),
    Case("response to a batch of alterations", 2, STARTED_BODY, AlterTopicResponse_V2(topics=STARTED)),
    Case("response to a batch of deletions", 2, STARTED_BODY, DeleteTopicResponse_V2(topics=STARTED)),
    Case(
        "topic metadata with lag and settings",
        1,
        "00 00 00 01 00 00 00 01 00 01 68 00 00 23 84 00 00 00 01 00 00 00 01 74 00 00 00 01 00 00 00 00 00 00 00 00 00"
        "01 00 00 00 02 00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 05 00 00 00 01 00 00 00 01 00 00 00 01 00 01 61 00"
        "01 62",
        TopicMetadataResponse_V1(
            brokers=(Broker(node_id=1, host="h", port=9092),),
            topics=(
                TopicMetadata(
                    topic_error_code=0,
                    topic_name="t",
                    partitions=(
                        PartitionMetadata(
                            partition_error_code=0,
                            partition_id=0,
                            leader=1,
                            replicas_lag=(ReplicaLag(replica_id=1, lag=0), ReplicaLag(replica_id=2, lag=5)),
                            isr=(1,),
                        ),
                    ),
                    config_entries=(A_IS_B,),
                ),
            ),
        ),
    ),
    Case(
        "preferred leaders for two partitions",
        0,
        "00 00 00 01 00 01 74 00 00 00 02 00 00 00 00 00 00 00 01",
        PreferredReplicaLeaderElectionRequest(topics=(TopicPartitions(topic="t", partition_ids=(0, 1)),)),
    ),
    Case("preferred leaders for all", 0, "00 00 00 00", PreferredReplicaLeaderElectionRequest(topics=())),
    Case(
        "update features",
        0,
        "00 00 ea 60 02 00 02 02 66 00 03 00 00 00",
        UpdateFeaturesRequest(
            timeout_ms=60000,
            feature_updates=(FeatureUpdate(allow_downgrade=False, features=(Feature(name="f", max_version_level=3),)),),
        ),
    ),
    Case(
        "api versions with features, as drafted: tags from 10000, the epoch int32",
        3,
        "00 00 02 00 12 00 00 00 03 00 00 00 00 00 03 90 4e 08 02 02 66 00 01 00 03 00 91 4e 04 00 00 00 07 92 4e 08 02"
        "02 66 00 03 00 01 00",
        ApiVersionsResponse(
            error_code=0,
            api_keys=(ApiVersion(api_key=18, min_version=0, max_version=3),),
            supported_features=(SupportedFeature(name="f", min_version=1, max_version=3),),
            finalized_features_epoch=7,
            finalized_features=(FinalizedFeature(name="f", max_version_level=3, min_version_level=1),),
        ),
    ),
    Case(
        "api versions with features, as Kafka shipped them: tags from 0, the epoch int64",
        3,
        "00 00 02 00 12 00 00 00 03 00 00 00 00 00 03 00 08 02 02 66 00 01 00 03 00 01 08 00 00 00 00 00 00 00 07 02 08"
        "02 02 66 00 03 00 01 00",
        shipped.ApiVersionsResponse(
            error_code=0,
            api_keys=(shipped.ApiVersion(api_key=18, min_version=0, max_version=3),),
            supported_features=(shipped.SupportedFeatureKey(name="f", min_version=1, max_version=3),),
            finalized_features_epoch=7,
            finalized_features=(shipped.FinalizedFeatureKey(name="f", max_version_level=3, min_version_level=1),),
        ),
    ),
]

UPDATE_FEATURES_OF_THE_OLDER_DRAFT = "00 00 ea 60 02 00 02 02 66 00 00 00 00 00 00 00 03 00 00 00"

each_case = for_rows("case", [pytest.param(case, id=case.name) for case in CASES])
both_codecs = for_rows("codec", [pytest.param(kwire, id="engine"), pytest.param(reference, id="reference")])


@both_codecs
@each_case
def test_bytes_decode_to_the_object(codec: ModuleType, case: Case) -> None:
    assert codec.decode(type(case.message), bytes.fromhex(case.body), version=case.version) == case.message


@both_codecs
@each_case
def test_object_encodes_to_the_bytes(codec: ModuleType, case: Case) -> None:
    assert codec.encode(case.message, version=case.version).hex(" ") == bytes.fromhex(case.body).hex(" ")


@both_codecs
@each_case
def test_every_prefix_of_a_body_is_rejected(codec: ModuleType, case: Case) -> None:
    body = bytes.fromhex(case.body)
    for length in range(len(body)):
        with pytest.raises(DecodeError):
            codec.decode(type(case.message), body[:length], version=case.version)


@both_codecs
def test_older_draft_of_update_features_is_rejected(codec: ModuleType) -> None:
    """Its levels are int64 without a version of their own. Read as int16, six bytes are left over."""
    with pytest.raises(DecodeError) as caught:
        codec.decode(UpdateFeaturesRequest, bytes.fromhex(UPDATE_FEATURES_OF_THE_OLDER_DRAFT), version=0)
    assert (caught.value.kind, caught.value.offset, caught.value.left) == ("trailing_bytes", 14, 6)
