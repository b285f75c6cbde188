"""Data of groups of Kafka Connect and Streams: bytes of the classes of connect-runtime 3.9.1 and kafka-streams 4.4.0.

`tests/proof` compares the values of all recorded bodies, with both codecs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire import DecodeError, EncodeError, UnsupportedVersion, decode_versioned, encode_versioned
from kwire.messages.connect import ConnectAssignment, ConnectWorkerState
from kwire.messages.connect.connect_assignment import ConnectorAssignment
from kwire.messages.streams import AssignmentInfo, SubscriptionInfoData
from kwire.messages.streams.assignment_info import ActiveTask
from tests.for_rows import for_rows
from tests.proof.material import vectors

if TYPE_CHECKING:
    from kwire.declare import Message


@for_rows("cls", [ConnectAssignment, ConnectWorkerState, AssignmentInfo, SubscriptionInfoData])
def test_every_version_is_recorded_and_round_trips(cls: type[Message]) -> None:
    cases = vectors()[cls.__name__]
    assert {case.version for case in cases} == set(cls.versions)
    for case in cases:
        is_inside = cls in (AssignmentInfo, SubscriptionInfoData)
        data = case.body if is_inside else case.version.to_bytes(2, "big") + case.body
        version, message = decode_versioned(cls, data)
        assert (version, encode_versioned(message, version=version)) == (case.version, data), case.name


def test_worker_state_contains_the_assignment_of_the_worker() -> None:
    states = [case for case in vectors()["ConnectWorkerState"] if case.json.get("allocation")]
    assert {case.version for case in states} == {1, 2}
    for case in states:
        _, state = decode_versioned(ConnectWorkerState, case.version.to_bytes(2, "big") + case.body)
        assert isinstance(state, ConnectWorkerState)
        assert state.allocation is not None
        assert decode_versioned(ConnectAssignment, state.allocation).version == case.version


def test_connector_itself_is_task_minus_one() -> None:
    part = ConnectorAssignment(connector="sink", tasks=(-1, 0))
    assignment = ConnectAssignment(error=0, leader="w", leader_url="u", config_offset=7, assignment=(part,))
    data = bytes.fromhex("0001 0000 0001 77 0001 75 0000000000000007 00000001 0004 73696e6b 00000002 ffffffff 00000000")
    assert encode_versioned(assignment, version=1) == data + bytes.fromhex("ffffffff 00000000")
    assert encode_versioned(assignment, version=0) == bytes(2) + data[2:]


def test_data_of_streams_begins_with_its_version() -> None:
    task = ActiveTask(topic_group_id=1, partition=2, named_topology=tuple(map(ord, "top")))
    assignment = AssignmentInfo(version=10, commonly_supported_version=11, active_tasks=(task,), standby_tasks=())
    data = encode_versioned(assignment, version=10)
    assert data.startswith(bytes.fromhex("0000000a 0000000b 00000001 00000001 00000002 00000003 0074 006f 0070"))
    with pytest.raises(EncodeError, match=r"^version: out_of_range: 10 differs from version=11$"):
        encode_versioned(assignment, version=11)
    with pytest.raises(UnsupportedVersion, match=r"^version 12 is not supported: AssignmentInfo has versions 1-11$"):
        decode_versioned(AssignmentInfo, bytes.fromhex("0000000c 0000000b"))
    with pytest.raises(DecodeError, match=r"^version: truncated at byte 0: 4 bytes wanted, 2 left$"):
        decode_versioned(AssignmentInfo, bytes(2))
    with pytest.raises(DecodeError, match=r"^active_tasks: truncated at byte 8: 4 bytes wanted, 0 left$"):
        decode_versioned(AssignmentInfo, data[:8])
