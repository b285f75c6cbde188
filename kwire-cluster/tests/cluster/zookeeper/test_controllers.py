"""Tests of the znodes of the controller, the controller epoch, and consumer offsets."""

from __future__ import annotations

import pytest

from kwire_cluster.zookeeper import ActiveController, ConsumerOffset, ControllerEpoch, ZnodeError


def test_controller_is_encoded_as_kafka_reads_it() -> None:
    """Kafka 3.9 reads only an object, although the wiki page says a bare number."""
    assert ActiveController(1, 1795219334002).encode() == b'{"version":1,"brokerid":1,"timestamp":"1795219334002"}'
    assert ActiveController.decode(b" 7 ") == ActiveController.decode(b'{"brokerid":7}') == ActiveController(7)


@pytest.mark.parametrize(("epoch", "migrating"), [(b"-1", False), (b"3", True), (b"0", True)])
def test_kraft_migration_is_detected(epoch: bytes, migrating: bool) -> None:
    data = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":' + epoch + b"}"
    assert ActiveController.decode(data).is_migrating is migrating
    assert not ActiveController(1).is_migrating


@pytest.mark.parametrize("data", [b"", b"7x", b"99999999999", b"{}", b'{"brokerid":"1"}', b'{"brokerid":null}', b"[7]"])
def test_malformed_controller_is_rejected(data: bytes) -> None:
    with pytest.raises(ZnodeError, match=r"^/controller: "):
        ActiveController.decode(data)


@pytest.mark.parametrize("data", [b"", b" 7", b"7\n", b"7.0", b"1_0", b"2147483648", "\u0667".encode()])
def test_malformed_epoch_is_rejected(data: bytes) -> None:
    with pytest.raises(ZnodeError, match=r"^/controller_epoch: expected an integer of 32 bits"):
        ControllerEpoch.decode(data)
    assert ControllerEpoch.decode(b"+7") == ControllerEpoch(7)


def test_offsets_have_64_bits() -> None:
    assert ConsumerOffset.decode(b"%d" % (2**63 - 1)).offset == 2**63 - 1
    assert ConsumerOffset.decode(b'{"offset":%d}' % -(2**63)).offset == -(2**63)
    for data in (b"%d" % 2**63, b'{"offset":%d}' % 2**63, b'{"offset":"1"}'):
        with pytest.raises(ZnodeError, match="64 bits"):
            ConsumerOffset.decode(data)
