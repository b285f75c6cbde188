"""Finalized features: what KIP-584 says of its node, and what its own example gets wrong."""

from __future__ import annotations

import pytest

from kwire.cluster.zookeeper import FeaturesZnode, FinalizedVersionRange, ZnodeError


def node(features: str, status: int = 1) -> bytes:
    return f'{{"version":0,"status":{status},"features":{features}}}'.encode()


def test_a_lowest_level_of_0_is_read_as_1_and_told() -> None:
    """The KIP's own example has it, against its own rule."""
    features = FeaturesZnode.decode(node('{"group_coordinator":{"min_version_level":0,"max_version_level":3}}'))
    assert features == FeaturesZnode(True, {"group_coordinator": FinalizedVersionRange(1, 3)})
    [complaint] = features.warnings
    assert (complaint.path, complaint.key) == ("/features", "features.group_coordinator.min_version_level")


@pytest.mark.parametrize(
    "levels",
    [
        '"f":{"min_version_level":3,"max_version_level":2}',
        '"f":{"min_version_level":0,"max_version_level":0}',
        '"f":{"min_version_level":-1,"max_version_level":2}',
        '"":{"min_version_level":1,"max_version_level":2}',
    ],
)
def test_what_cannot_be_obeyed_is_told_and_left_out(levels: str) -> None:
    features = FeaturesZnode.decode(node(f'{{{levels},"good":{{"min_version_level":1,"max_version_level":1}}}}'))
    assert features == FeaturesZnode(True, {"good": FinalizedVersionRange(1, 1)})
    assert features.warnings


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"", ""),
        (b'{"status":1,"features":{}}', "version"),
        (b'{"version":1,"status":1,"features":{}}', "version"),
        (b'{"version":0,"features":{}}', "status"),
        (b'{"version":0,"status":2,"features":{}}', "status"),
        (b'{"version":0,"status":1}', "features"),
        (node("[]"), "features"),
        (node('{"f":{"min_version_level":1}}'), "features.f.max_version_level"),
        (node('{"f":{"min_version_level":1,"max_version_level":32768}}'), "features.f.max_version_level"),
    ],
)
def test_faults(data: bytes, key: str) -> None:
    with pytest.raises(ZnodeError) as failed:
        FeaturesZnode.decode(data)
    assert (failed.value.path, failed.value.key) == ("/features", key)


def test_switched_off() -> None:
    assert FeaturesZnode(False).encode() == b'{"version":0,"status":0,"features":{}}'
    assert FeaturesZnode.decode(b'{"version":0,"status":0}') == FeaturesZnode(False)


@pytest.mark.parametrize(
    "levels", [FinalizedVersionRange(0, 1), FinalizedVersionRange(2, 1), FinalizedVersionRange(1, 32768)]
)
def test_levels_that_nobody_may_have_are_not_written(levels: FinalizedVersionRange) -> None:
    with pytest.raises(ValueError, match="no range of levels from 1 to 32767"):
        FeaturesZnode(True, {"f": levels}).encode()
    with pytest.raises(ValueError, match="no range"):
        FeaturesZnode(True, {"": FinalizedVersionRange(1, 1)}).encode()
