"""The error codes of the KIP-4 dialect."""

from __future__ import annotations

import json
import pickle

from kwire import to_json
from kwire.messages.kip4.create_topic import CreateTopicResponse
from kwire.messages.kip4.error_codes import ErrorCode, not_controller_text


def test_numbers_are_those_of_the_drafts_and_of_kwire() -> None:
    assert {code.name: int(code) for code in ErrorCode} == {
        "NO_ERROR": 0,
        "UNKNOWN_TOPIC_OR_PARTITION": 3,
        "REQUEST_TIMED_OUT": 7,
        "STALE_CONTROLLER_EPOCH": 11,
        "ADMIN_REQUEST_FAILED": 21,
        "NOT_CONTROLLER_FOR_ADMIN_REQUEST": 22,
        "TOPIC_AUTHORIZATION_FAILED": 29,
        "CLUSTER_AUTHORIZATION_FAILED": 31,
        "UNSUPPORTED_VERSION": 35,
        "NOT_CONTROLLER": 41,
        "INVALID_REQUEST": 42,
        "FEATURE_UPDATE_FAILED": 96,
        "TOPIC_ALREADY_EXISTS": 1001,
        "INVALID_ARGUMENT_PARTITIONS": 1002,
        "DECREASE_PARTITIONS_NOT_ALLOWED": 1003,
        "INVALID_ARGUMENT_REPLICATION_FACTOR": 1004,
        "INVALID_ARGUMENT_REPLICA_ASSIGNMENT": 1005,
        "INVALID_ARGUMENT_TOPIC_CONFIG": 1006,
        "PREFERRED_REPLICA_LEADER_ELECTION_IN_PROGRESS": 1007,
        "INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA": 1008,
        "REASSIGN_PARTITIONS_IN_PROGRESS": 1009,
        "INVALID_ARGUMENT_TOPIC_NAME": 1010,
        "MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC": 1011,
        "MULTIPLE_TOPIC_INSTRUCTIONS_IN_ONE_BATCH": 1012,
        "FEATURE_UPDATE_IN_PROGRESS": 1013,
    }


def test_retriable_codes() -> None:
    assert {code for code in ErrorCode if code.retriable} == {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.FEATURE_UPDATE_IN_PROGRESS,
    }


def test_every_code_has_a_text() -> None:
    texts = [code.message for code in ErrorCode]
    assert all(text[0].isupper() and text.endswith(".") for text in texts)
    assert len(set(texts)) == len(texts)


def test_code_22_has_the_text_of_the_draft() -> None:
    assert not_controller_text(4) == "Target broker (id=4) is not serving a controller's role."


def test_members_are_ints_and_can_be_pickled() -> None:
    assert {21: "found"}[ErrorCode.ADMIN_REQUEST_FAILED] == "found"
    assert pickle.loads(pickle.dumps(ErrorCode.TOPIC_ALREADY_EXISTS)) is ErrorCode.TOPIC_ALREADY_EXISTS


def test_error_code_fields_accept_unknown_codes() -> None:
    assert CreateTopicResponse(error_code=9999).error_code == 9999
    assert ErrorCode(9999) == 9999
    assert ErrorCode(21) is ErrorCode.ADMIN_REQUEST_FAILED


def test_json_has_the_number() -> None:
    document = to_json(CreateTopicResponse(error_code=ErrorCode.NO_ERROR), version=1)
    assert type(document["errorCode"]) is int
    assert json.dumps(document) == '{"errorCode": 0, "errorDescription": null}'
