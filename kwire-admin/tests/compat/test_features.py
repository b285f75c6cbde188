"""Levels of features that `kafka-features` knows without a cluster, as Kafka 4.4.0 prints them."""

from __future__ import annotations

import pytest

from kwire_admin.compat import run_script

FEATURES = ("kraft", "transaction", "group", "eligible.leader.replicas", "share", "streams")
MAPPINGS = {
    "": "metadata.version=33 (4.4-IV2) 1 2 1 1 2 1",
    "3.3-IV3": "metadata.version=7 (3.3-IV3) 0 0 0 0 0 0",
    "3.7": "metadata.version=19 (3.7) 0 0 0 0 0 0",
    "3.9-IV0": "metadata.version=21 (3.9-IV0) 1 0 0 0 0 0",
    "4.0-IV1": "metadata.version=23 (4.0-IV1) 1 0 1 0 0 0",
    "4.0": "metadata.version=25 (4.0) 1 2 1 0 0 0",
    "4.1-IV0": "metadata.version=26 (4.1-IV0) 1 2 1 1 0 0",
    "4.2-IV0": "metadata.version=28 (4.2-IV0) 1 2 1 1 1 0",
    "4.2": "metadata.version=29 (4.2) 1 2 1 1 1 1",
    "4.4-IV0": "metadata.version=31 (4.4-IV0) 1 2 1 1 2 1",
    "4.5-IV0": "metadata.version=34 (4.5-IV0) 1 2 1 1 2 1",
}
DEPENDENCIES = {
    "metadata.version=20": (0, "metadata.version=20 (3.8-IV0) has no dependencies.\n"),
    "metadata.version=6": (1, "Unknown metadata.version 6\n"),
    "metadata.version=99": (1, "Unknown metadata.version 99\n"),
    "transaction.version=2": (0, "transaction.version=2 has no dependencies.\n"),
    "eligible.leader.replicas.version=0": (0, "eligible.leader.replicas.version=0 has no dependencies.\n"),
    "eligible.leader.replicas.version=1": (
        0,
        "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n",
    ),
    "streams.version=2": (1, "No feature:streams.version with feature level 2\n"),
    "group.version=-1": (1, "No feature:group.version with feature level -1\n"),
    "nosuch=1": (1, "Unknown feature: nosuch\n"),
    "=1": (1, "Unknown feature: \n"),
    "group.version": (1, "Can't parse feature=level string group.version: equals sign not found.\n"),
    "group.version=x": (1, "Can't parse feature=level string group.version=x: unable to parse x as a short.\n"),
    "a=b=c": (1, "Can't parse feature=level string a=b=c: unable to parse b=c as a short.\n"),
    "group.version=99999": (
        1,
        "Can't parse feature=level string group.version=99999: unable to parse 99999 as a short.\n",
    ),
}


@pytest.mark.parametrize("release", MAPPINGS)
def test_default_levels_of_a_release_are_kafkas(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--release-version", release] if release else []
    assert run_script("kafka-features", ["version-mapping", *words]) == 0
    metadata, *levels = capsys.readouterr().out.splitlines()
    assert [line.partition(".version=")[0] for line in levels] == [*FEATURES]
    assert " ".join([metadata, *(line.partition("=")[2] for line in levels)]) == MAPPINGS[release]


@pytest.mark.parametrize("release", ["2.8", "3.3-IV2", "4", "nosuch", "4.0-IV"])
def test_unknown_release_is_refused(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script("kafka-features", ["version-mapping", "--release-version", release]) == 1
    expected = f"Unknown metadata.version '{release}'. Supported metadata.version are: 3.3-IV3, 3.4-IV0, "
    assert capsys.readouterr().err.startswith(expected)


@pytest.mark.parametrize("feature", DEPENDENCIES)
def test_dependencies_of_a_level_are_kafkas(feature: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, expected = DEPENDENCIES[feature]
    assert run_script("kafka-features", ["feature-dependencies", "--feature", feature]) == code
    printed = capsys.readouterr()
    assert printed.out + printed.err == expected
