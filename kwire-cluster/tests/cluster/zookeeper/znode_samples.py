"""Samples of all znode classes, with the expected decoded value.

They come from "Kafka data structures in Zookeeper", KIP-584, and Kafka 3.9.1.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.authorization.acl_entries import AclEntry
from kwire_cluster.zookeeper import (
    AclChangeNotification,
    ActiveController,
    BrokerRegistration,
    ClusterId,
    ConfigChangeNotification,
    ConsumerOffset,
    ConsumerOwner,
    ConsumerRegistration,
    ControllerEpoch,
    DeletionMarker,
    EntityConfig,
    FeaturesZnode,
    FinalizedVersionRange,
    IsrChangeNotification,
    ListedPartition,
    LogDirEventNotification,
    PartitionReassignment,
    PartitionState,
    PreferredReplicaElection,
    ProducerIdBlock,
    ReassignPartitions,
    RegisteredEndpoint,
    ResourceAcls,
    SupportedVersionRange,
    TopicRegistration,
)

if TYPE_CHECKING:
    pass


class Sample(NamedTuple):
    source: str
    path: str
    data: bytes
    expected: Any


SAMPLES = [
    Sample(
        "wiki: topic",
        TopicRegistration.path("foo"),
        b'{"version": 1, "partitions": {"0": [0, 1, 3] } }',
        TopicRegistration({0: (0, 1, 3)}),
    ),
    Sample(
        "Kafka 3.9.1: topic",
        TopicRegistration.path("foo"),
        b'{"partitions":{"0":[1,2]},"topic_id":"QxByuMYiQJWUYjcdbLO8KA","adding_replicas":{},"removing_replicas":{},'
        b'"version":3}',
        TopicRegistration({0: (1, 2)}, uuid.UUID("431072b8-c622-4095-9462-371d6cb3bc28")),
    ),
    Sample(
        "wiki: partition",
        PartitionState.path("foo", 0),
        b'{ "version": 1, "isr": [0,1], "leader": 0, "controller_epoch": 1, "leader_epoch": 0 }',
        PartitionState(leader=0, leader_epoch=0, isr=(0, 1), controller_epoch=1),
    ),
    Sample(
        "Kafka 3.9.1: partition",
        PartitionState.path("foo", 0),
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}',
        PartitionState(leader=1, leader_epoch=0, isr=(1, 2), controller_epoch=1),
    ),
    Sample(
        "Kafka 3.2: partition recovering from an unclean election",
        PartitionState.path("foo", 0),
        b'{"controller_epoch":4,"leader":1,"version":1,"leader_epoch":9,"isr":[1],"leader_recovery_state":1}',
        PartitionState(leader=1, leader_epoch=9, isr=(1,), controller_epoch=4, recovering=True),
    ),
    Sample(
        "wiki: broker of 0.8",
        BrokerRegistration.path(0),
        b'{ "version": 1, "host": "192.168.1.148", "port": 9092, "jmx_port": 9999 }',
        BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "192.168.1.148", 9092),), jmx_port=9999, version=1),
    ),
    Sample(
        "wiki: broker of 0.9, with its missing colons added",
        BrokerRegistration.path(0),
        b'{ "version":2, "host":"localhost", "port":9092, "jmx_port":9999, "timestamp":"2233345666",'
        b'"endpoints": ["PLAINTEXT://host1:9092", "SSL://host1:9093"] }',
        BrokerRegistration(
            (RegisteredEndpoint("PLAINTEXT", "host1", 9092), RegisteredEndpoint("SSL", "host1", 9093, "SSL")),
            jmx_port=9999,
            timestamp=2233345666,
            version=2,
        ),
    ),
    Sample(
        "wiki: broker of 0.10",
        BrokerRegistration.path(0),
        b'{ "version":3, "host":"localhost", "port":9092, "jmx_port":9999, "timestamp":"2233345666",'
        b'"endpoints": ["PLAINTEXT://host1:9092", "SSL://host1:9093"], "rack": "us-east-1c" }',
        BrokerRegistration(
            (RegisteredEndpoint("PLAINTEXT", "host1", 9092), RegisteredEndpoint("SSL", "host1", 9093, "SSL")),
            jmx_port=9999,
            rack="us-east-1c",
            timestamp=2233345666,
            version=3,
        ),
    ),
    Sample(
        "KIP-584: broker",
        BrokerRegistration.path(0),
        b'{"listener_security_protocol_map":{"INTERNAL":"PLAINTEXT","REPLICATION":"PLAINTEXT","EXTERNAL":"SASL_SSL"},'
        b'"endpoints":["INTERNAL://kafka-0.kafka.def.cluster.local:9071",'
        b'"REPLICATION://kafka-0.kafka.abc.cluster.local:9072","EXTERNAL://b3-kfc-mnope.us.clusterx:9092"],"rack":"0",'
        b'"jmx_port":7203,"host":"kafka-0.kafka.def.cluster.local","timestamp":"1579041366882","port":9071,"version":5,'
        b'"features":{"group_coordinator":{"min_version":1,"max_version":3},'
        b'"transaction_coordinator":{"min_version":1,"max_version":4}}}',
        BrokerRegistration(
            (
                RegisteredEndpoint("INTERNAL", "kafka-0.kafka.def.cluster.local", 9071),
                RegisteredEndpoint("REPLICATION", "kafka-0.kafka.abc.cluster.local", 9072),
                RegisteredEndpoint("EXTERNAL", "b3-kfc-mnope.us.clusterx", 9092, "SASL_SSL"),
            ),
            jmx_port=7203,
            rack="0",
            features={
                "group_coordinator": SupportedVersionRange(1, 3),
                "transaction_coordinator": SupportedVersionRange(1, 4),
            },
            timestamp=1579041366882,
        ),
    ),
    Sample(
        "Kafka 3.9.1: broker",
        BrokerRegistration.path(1),
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
        b'"endpoints":["PLAINTEXT://127.0.0.1:19091"],"jmx_port":-1,"port":19091,"host":"127.0.0.1","version":5,'
        b'"timestamp":"1795219333912"}',
        BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "127.0.0.1", 19091),), timestamp=1795219333912),
    ),
    Sample("wiki: controller epoch", ControllerEpoch.path(), b"7", ControllerEpoch(7)),
    Sample("wiki: controller", ActiveController.path(), b"3", ActiveController(3)),
    Sample(
        "Kafka 0.8: controller",
        ActiveController.path(),
        b'{"version":1,"brokerid":1,"timestamp":"1795219334002"}',
        ActiveController(1, 1795219334002),
    ),
    Sample(
        "Kafka 3.9.1: controller",
        ActiveController.path(),
        b'{"version":2,"brokerid":1,"timestamp":"1795219334002","kraftControllerEpoch":-1}',
        ActiveController(1, 1795219334002, -1),
    ),
    Sample(
        "wiki: consumer with a static subscription",
        ConsumerRegistration.path("g", "c"),
        b'{ "version": 1, "pattern": "static", "subscription": {"topic1": 1, "topic2": 2} }',
        ConsumerRegistration("static", {"topic1": 1, "topic2": 2}),
    ),
    Sample(
        "wiki: consumer with a white list",
        ConsumerRegistration.path("g", "c"),
        b'{ "version": 1, "pattern": "white_list", "subscription": {"abc": 1}}',
        ConsumerRegistration("white_list", {"abc": 1}),
    ),
    Sample(
        "wiki: consumer with a black list",
        ConsumerRegistration.path("g", "c"),
        b'{ "version": 1, "pattern": "black_list", "subscription": {"abc": 1}}',
        ConsumerRegistration("black_list", {"abc": 1}),
    ),
    Sample(
        "Kafka 0.8.2: consumer",
        ConsumerRegistration.path("g", "c"),
        b'{"version":1,"subscription":{"t":2},"pattern":"static","timestamp":"1579041366882"}',
        ConsumerRegistration("static", {"t": 2}, 1579041366882),
    ),
    Sample("wiki: owner", ConsumerOwner.path("g", "t", 0), b"g_host-1-0", ConsumerOwner("g_host-1-0")),
    Sample("wiki: offset", ConsumerOffset.path("g", "t", 0), b"42", ConsumerOffset(42)),
    Sample("page, comment: offset", ConsumerOffset.path("g", "t", 0), b'{"offset": 42}', ConsumerOffset(42)),
    Sample(
        "wiki: reassignment",
        ReassignPartitions.path(),
        b'{ "version": 1, "partitions": [ { "topic": "Foo", "partition": 1, "replicas": [0, 1, 3] } ] }',
        ReassignPartitions((PartitionReassignment("Foo", 1, (0, 1, 3)),)),
    ),
    Sample(
        "wiki: preferred replica election",
        PreferredReplicaElection.path(),
        b'{ "version": 1, "partitions": [ { "topic": "Foo", "partition": 1 }, { "topic": "Bar", "partition": 0 } ] }',
        PreferredReplicaElection((ListedPartition("Foo", 1), ListedPartition("Bar", 0))),
    ),
    Sample("wiki: deletion", DeletionMarker.path("foo"), b"", DeletionMarker("foo")),
    Sample(
        "wiki: configs of a topic",
        EntityConfig.path("topics", "foo"),
        b'{ "version": 1, "config": { "config.a": "x", "config.b": "y" } }',
        EntityConfig({"config.a": "x", "config.b": "y"}),
    ),
    Sample(
        "Kafka 3.9.1: configs of a topic",
        EntityConfig.path("topics", "foo"),
        b'{"version":1,"config":{"retention.ms":"5000"}}',
        EntityConfig({"retention.ms": "5000"}),
    ),
    Sample(
        "wiki: config change of 0.8.1",
        ConfigChangeNotification.path(7),
        b'"topic_name"',
        ConfigChangeNotification("topics/topic_name"),
    ),
    Sample(
        "wiki: config change of 0.9",
        ConfigChangeNotification.path(7),
        b'{"version" : 1, "entity_type":"clients", "entity_name" : "client_id"}',
        ConfigChangeNotification("clients/client_id"),
    ),
    Sample(
        "Kafka 3.9.1: config change",
        ConfigChangeNotification.path(7),
        b'{"version":2,"entity_path":"topics/foo"}',
        ConfigChangeNotification("topics/foo"),
    ),
    Sample(
        "Kafka 0.9: ISR change",
        IsrChangeNotification.path(3),
        b'{"version":1,"partitions":[{"topic":"foo","partition":0}]}',
        IsrChangeNotification((ListedPartition("foo", 0),)),
    ),
    Sample(
        "wiki: access control list",
        ResourceAcls.path("Topic", "foo"),
        b'{"version": 1, "acls": [ { "host":"host1", "permissionType": "Allow","operation": "Read",'
        b'"principal": "User:alice"}]}',
        ResourceAcls((AclEntry("User:alice", "Allow", "Read", "host1"),)),
    ),
    Sample(
        "Kafka 3.9.1: ACL change",
        AclChangeNotification.path("literal", 1),
        b"TOPIC:i2",
        AclChangeNotification("Topic", "i2"),
    ),
    Sample(
        "Kafka 1.0: ACL change",
        AclChangeNotification.path("literal", 1),
        b"Topic:i1",
        AclChangeNotification("Topic", "i1"),
    ),
    Sample(
        "Kafka 3.9.1: change of a prefixed ACL",
        AclChangeNotification.path("prefixed", 1),
        b'{"version":1,"resourceType":"TOPIC","name":"i-pref-","patternType":"PREFIXED"}',
        AclChangeNotification("Topic", "i-pref-", "prefixed"),
    ),
    Sample(
        "Kafka 3.9.1: cluster id",
        ClusterId.path(),
        b'{"version":"1","id":"E618TkrETQ6jWU3bwxWn-w"}',
        ClusterId("E618TkrETQ6jWU3bwxWn-w"),
    ),
    Sample(
        "KIP-584: features, with levels of 1 and its missing brace added",
        FeaturesZnode.path(),
        b'{"version":0,"status":1,"features":{"group_coordinator":{"min_version_level":1,"max_version_level":3},'
        b'"consumer_offsets_topic_schema":{"min_version_level":1,"max_version_level":4}}}',
        FeaturesZnode(
            True,
            {
                "group_coordinator": FinalizedVersionRange(1, 3),
                "consumer_offsets_topic_schema": FinalizedVersionRange(1, 4),
            },
        ),
    ),
    Sample(
        "Kafka: failed log directory",
        LogDirEventNotification.path(0),
        b'{"version":1,"broker":3,"event":1}',
        LogDirEventNotification(3),
    ),
    Sample(
        "Kafka: producer ids",
        ProducerIdBlock.path(),
        b'{"version":1,"broker":0,"block_start":"0","block_end":"999"}',
        ProducerIdBlock(0, 0, 999),
    ),
]
CLASSES = sorted({type(sample.expected) for sample in SAMPLES}, key=lambda cls: cls.__name__)
JSON_SAMPLES = [
    sample
    for sample in SAMPLES
    if sample.data.startswith(b"{") and not isinstance(sample.expected, AclChangeNotification | DeletionMarker)
]


def by_source(value: Sample | type) -> str:
    return value.source if isinstance(value, Sample) else value.__name__
