"""API versions of releases, and guesses from recorded ApiVersions responses of real brokers.

`kwire-admin/tests/kafka/test_releases.py` compares the versions with Kafka's jars.
"""

from __future__ import annotations

from typing import Literal

import pytest

from kwire import decode
from kwire.messages.kafka import ApiVersionsResponse, CreateTopicsRequest, FetchRequest, MetadataRequest
from kwire.messages.kafka.api_versions import ApiVersion
from kwire.protocol import Endpoint, NegotiatedVersions, NoCommonVersion
from kwire.releases import GuessedRelease, Release, UnknownRelease, guess_release, release, releases
from tests.for_rows import for_rows
from tests.proof.material import exchanges

LISTENERS: tuple[Literal["zk_broker", "broker", "controller"], ...] = ("zk_broker", "broker", "controller")
API_VERSIONS = 18
ALL = [known for listener in LISTENERS for known in releases(listener)]


def highest(known: Release) -> dict[int, int]:
    return {key: last for key, (_, last) in known.versions.items()}


def response(versions: dict[int, int]) -> ApiVersionsResponse:
    apis = tuple(ApiVersion(api_key=key, min_version=0, max_version=last) for key, last in versions.items())
    return ApiVersionsResponse(error_code=0, api_keys=apis)


def test_releases_are_ordered_and_complete() -> None:
    before_28 = ["0.8.0", "0.8.1", "0.8.2", "0.9", "0.10.0", "0.10.1", "0.10.2", "0.11", "1.0", "1.1"]
    before_28 += [f"2.{minor}" for minor in range(8)]
    with_both = ["2.8", *(f"3.{minor}" for minor in range(10))]
    without_zookeeper = [f"4.{minor}" for minor in range(5)]
    names = {listener: [known.name for known in releases(listener)] for listener in LISTENERS}
    assert names["zk_broker"] == before_28 + with_both
    assert names["broker"] == names["controller"] == with_both + without_zookeeper


def test_highest_versions_never_decrease() -> None:
    """A release that lost a version would make guesses ambiguous; whole APIs left KRaft in 3.0 and Kafka in 4.0."""
    for listener in LISTENERS:
        for older, newer in zip(releases(listener), releases(listener)[1:], strict=False):
            shared = older.versions.keys() & newer.versions.keys()
            assert all(newer.versions[key][1] >= older.versions[key][1] for key in shared), newer.name


def test_release_of_recorded_responses_is_guessed() -> None:
    """The responses of 3.9.1 with ZooKeeper and of 4.4.0, both without a telemetry plugin."""
    guesses = {}
    for exchange in exchanges():
        body = exchange.response[4:]
        if exchange.api_key == API_VERSIONS and body[:2] == b"\0\0":
            guess = guess_release(decode(ApiVersionsResponse, body, version=exchange.version))
            guesses[str(guess)] = guess
    assert guesses == {name: GuessedRelease(release(name), release(name), True) for name in ("3.9", "4.4")}


def test_every_release_is_guessed_from_its_versions() -> None:
    """Brokers of 3.3 and 3.4, and controllers of 3.7 and 3.8, have the same versions."""
    guesses = {(known.listener, known.name): str(guess_release(known.response())) for known in ALL}
    ranges = {place: guess for place, guess in guesses.items() if guess != place[1]}
    assert ranges == {
        ("broker", "3.3"): "3.3 to 3.4",
        ("broker", "3.4"): "3.3 to 3.4",
        ("controller", "3.7"): "3.7 to 3.8",
        ("controller", "3.8"): "3.7 to 3.8",
    }


@for_rows(
    ("versions", "text"),
    [
        (highest(release("4.4")) | {3: 99}, "newer than 4.4"),
        (highest(release("2.0")) | {3: 7, 4: 1}, "between 2.0 and 2.1"),
        ({3: 13, 18: 3}, "part of 4.0"),
        ({3: 99}, "unknown release"),
        ({1000: 0}, "unknown release"),
        ({}, "unknown release"),
    ],
)
def test_versions_of_no_release_are_not_exact(versions: dict[int, int], text: str) -> None:
    guess = guess_release(response(versions))
    assert (str(guess), guess.is_exact) == (text, False)


@for_rows("vendor", [range(501, 520), (10_000, 10_001), (-1, 999, 32_767)])
def test_keys_of_vendors_do_not_change_a_guess(vendor: range | tuple[int, ...]) -> None:
    for known in (release("2.8"), release("3.9", "broker"), release("4.4")):
        assert guess_release(response(highest(known) | dict.fromkeys(vendor, 4))) == GuessedRelease(known, known, True)


def test_telemetry_does_not_change_a_guess() -> None:
    known = release("4.4")
    assert known.versions.keys() > {71, 72}
    without = {key: last for key, last in highest(known).items() if key not in {71, 72}}
    assert guess_release(response(without)) == guess_release(known.response()) == GuessedRelease(known, known, True)


@for_rows(
    ("text", "name", "listener"),
    [
        ("0.8.2.2", "0.8.2", "zk_broker"),
        ("0.9.0.1", "0.9", "zk_broker"),
        ("0.10.1.0", "0.10.1", "zk_broker"),
        ("3.9", "3.9", "zk_broker"),
        ("3.9.1", "3.9", "zk_broker"),
        ("4.0.0", "4.0", "broker"),
    ],
)
def test_release_is_found_by_its_patch_release(text: str, name: str, listener: str) -> None:
    assert release(text)[:2] == (name, listener)


def test_unknown_release_is_an_error() -> None:
    with pytest.raises(UnknownRelease, match=r"^expected a release from 0\.8\.0 to 4\.4, found '5\.0'$"):
        release("5.0")
    with pytest.raises(UnknownRelease, match=r"^expected a release from 2\.8 to 4\.4, found '2\.7'$"):
        release("2.7", "controller")


def test_pinned_client_uses_no_newer_version() -> None:
    broker = Endpoint("127.0.0.1", 9092)
    old, new = release("0.10.0"), release("3.9")
    assert NegotiatedVersions(broker, new.response()).version_of(MetadataRequest) == 12

    pinned = NegotiatedVersions(broker, old.pin(new.response()))
    assert pinned.version_of(MetadataRequest) == 1
    with pytest.raises(NoCommonVersion):
        pinned.version_of(CreateTopicsRequest)
    # Kafka 4 removed the versions of Fetch before 4 (KIP-896).
    with pytest.raises(NoCommonVersion):
        NegotiatedVersions(broker, old.pin(release("4.4").response())).version_of(FetchRequest)
