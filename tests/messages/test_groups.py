"""Data of groups of Kafka Connect, which has no schemas: the bytes of Kafka's classes (connect-runtime 3.9.1).

`tests/proof` compares the values of all recorded bodies, with both codecs.
"""

from __future__ import annotations

from kwire import decode_versioned, encode_versioned
from kwire.messages.connect import ConnectAssignment, ConnectWorkerState
from kwire.messages.connect.connect_assignment import ConnectorAssignment
from tests.for_rows import for_rows
from tests.proof.material import vectors


@for_rows("cls", [ConnectAssignment, ConnectWorkerState])
def test_every_version_is_recorded_and_round_trips(cls: type[ConnectAssignment | ConnectWorkerState]) -> None:
    cases = vectors()[cls.__name__]
    assert {case.version for case in cases} == set(cls.versions)
    for case in cases:
        data = case.version.to_bytes(2, "big") + case.body
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
