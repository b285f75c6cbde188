"""Plans in Kafka's JSON form."""

from __future__ import annotations

import json

import pytest

from kwire.client.admin.group_values import TopicPartition
from kwire_admin.reassignment import AssignmentFile, InvalidAssignment

ORDERS = TopicPartition("orders", 0)


def test_file_is_kafkas_json() -> None:
    text = AssignmentFile({ORDERS: (1, 2)}).to_json()
    assert json.loads(text) == {
        "version": 1,
        "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}],
    }


def test_file_keeps_what_the_plan_started_from() -> None:
    file = AssignmentFile({ORDERS: (1, 2)}, {ORDERS: (3, 2)}, "cluster-7")
    assert AssignmentFile.from_json(file.to_json()) == file


def test_file_of_another_tool_is_read() -> None:
    text = '{"partitions": [{"topic": "orders", "partition": 0, "replicas": [2]}], "version": 1}'
    assert AssignmentFile.from_json(text) == AssignmentFile({ORDERS: (2,)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected JSON"),
        ("[]", 'expected {"version": 1, "partitions": [...]}'),
        ('{"version": 2, "partitions": []}', "version 2 is not supported: expected 1"),
        ('{"partitions": []}', "the list of partitions is empty"),
        ('{"partitions": [7]}', "entry 0 of partitions: expected an object, got 7"),
        ('{"partitions": [{"partition": 0, "replicas": [1]}]}', "expected the name of a topic, got null"),
        ('{"partitions": [{"topic": "t", "partition": "0", "replicas": [1]}]}', 'index of a partition, got "0"'),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}', "the broker ids of t-0, got []"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [-1]}]}', "the broker ids of t-0, got [-1]"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1]}]}', "t-0 has two replicas on one broker"),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/data"]}]}',
            'log_dirs other than "any" are not supported',
        ),
        (
            (
                '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]},'
                ' {"topic": "t", "partition": 0, "replicas": [2]}]}'
            ),
            "entry 1 of partitions: t-0 is named twice",
        ),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}], "kwire": {"previous": [7]}}',
            'the member "kwire" has the wrong shape',
        ),
    ],
)
def test_wrong_shape_is_explained(text: str, message: str) -> None:
    with pytest.raises(InvalidAssignment) as raised:
        AssignmentFile.from_json(text)
    assert message in str(raised.value)
