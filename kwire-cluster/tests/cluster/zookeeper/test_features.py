"""Tests of the finalized features."""

from __future__ import annotations

import pytest

from kwire_cluster.zookeeper import FeaturesZnode, FinalizedVersionRange, ZnodeError


def data_of(features: str) -> bytes:
    return f'{{"version":0,"status":1,"features":{features}}}'.encode()


def test_minimum_level_0_is_read_as_1_with_a_warning() -> None:
    """The example of KIP-584 has it, although the KIP does not allow it."""
    features = FeaturesZnode.decode(data_of('{"group_coordinator":{"min_version_level":0,"max_version_level":3}}'))
    assert features == FeaturesZnode(True, {"group_coordinator": FinalizedVersionRange(1, 3)})
    [warning] = features.warnings
    assert (warning.path, warning.key) == ("/features", "features.group_coordinator.min_version_level")


@pytest.mark.parametrize(
    "levels",
    [
        '"f":{"min_version_level":3,"max_version_level":2}',
        '"f":{"min_version_level":0,"max_version_level":0}',
        '"f":{"min_version_level":-1,"max_version_level":2}',
        '"":{"min_version_level":1,"max_version_level":2}',
    ],
)
def test_invalid_range_is_ignored_with_a_warning(levels: str) -> None:
    features = FeaturesZnode.decode(data_of(f'{{{levels},"good":{{"min_version_level":1,"max_version_level":1}}}}'))
    assert features.features == {"good": FinalizedVersionRange(1, 1)}
    assert features.warnings


def test_invalid_range_is_written_back_unchanged() -> None:
    bad = '{"min_version_level":3,"max_version_level":2}'
    data = data_of(f'{{"good":{{"min_version_level":1,"max_version_level":1}},"bad":{bad}}}')
    features = FeaturesZnode.decode(data)
    assert features.invalid == (("bad", bad),)
    assert features.encode() == data


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"", ""),
        (b'{"status":1,"features":{}}', "version"),
        (b'{"version":1,"status":1,"features":{}}', "version"),
        (b'{"version":0,"features":{}}', "status"),
        (b'{"version":0,"status":2,"features":{}}', "status"),
        (b'{"version":0,"status":1}', "features"),
        (data_of("[]"), "features"),
        (data_of('{"f":{"min_version_level":1}}'), "features.f.max_version_level"),
        (data_of('{"f":{"min_version_level":1,"max_version_level":32768}}'), "features.f.max_version_level"),
    ],
)
def test_malformed_features_are_rejected(data: bytes, key: str) -> None:
    """KIP-584: the version 'contains the version of the schema of the data stored in the ZK node', and the status
    'takes two values'.
    """
    with pytest.raises(ZnodeError) as failed:
        FeaturesZnode.decode(data)
    assert (failed.value.path, failed.value.key) == ("/features", key)


def test_enabled_features() -> None:
    """KIP-584: 'Enabled (1): This status means the feature versioning system is enabled, and, the finalized features
    stored in the /features ZK node are active'. The features are 'a dictionary that contains a mapping from feature
    names to their metadata', 'the minimum finalized cluster-wide version level' and 'the maximum' one.
    """
    features = FeaturesZnode(True, {"f": FinalizedVersionRange(1, 3), "g": FinalizedVersionRange(2, 32767)})
    data = data_of(
        '{"f":{"min_version_level":1,"max_version_level":3},"g":{"min_version_level":2,"max_version_level":32767}}'
    )
    assert features.encode() == data
    assert FeaturesZnode.decode(data) == features


def test_disabled_features() -> None:
    """KIP-584: 'Disabled (0): This status means the feature versioning system is disabled'."""
    assert FeaturesZnode(False).encode() == b'{"version":0,"status":0,"features":{}}'
    assert FeaturesZnode.decode(b'{"version":0,"status":0}') == FeaturesZnode(False)


@pytest.mark.parametrize(
    "levels", [FinalizedVersionRange(0, 1), FinalizedVersionRange(2, 1), FinalizedVersionRange(1, 32768)]
)
def test_encode_rejects_invalid_levels(levels: FinalizedVersionRange) -> None:
    """KIP-584: 'the following rule always holds true: min_version_level >= 1 and max_version_level >= 1 and
    min_version_level <= max_version_level', and a feature name is 'a non-empty string'.
    """
    with pytest.raises(ValueError, match=r"invalid levels .*, expected a range from 1 to 32767"):
        FeaturesZnode(True, {"f": levels}).encode()
    with pytest.raises(ValueError, match="invalid levels"):
        FeaturesZnode(True, {"": FinalizedVersionRange(1, 1)}).encode()
