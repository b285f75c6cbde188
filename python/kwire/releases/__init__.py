"""API versions of Kafka's releases 0.8 to 4.4, for brokers that cannot be asked and to guess the release of others.

ApiVersions exists since 0.10 (KIP-35) and does not report a release. `table.txt` has what each listener of each minor
release reports, from Kafka's classes (`ApiKeys`); `scripts/releases.py` writes it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import KwireError
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    Listener: TypeAlias = Literal["zk_broker", "broker", "controller"]

__all__ = ["GuessedRelease", "Release", "UnknownRelease", "guess_release", "release", "releases"]

LISTENERS: tuple[Listener, ...] = ("zk_broker", "broker", "controller")
"""Brokers with ZooKeeper (to 3.9), and brokers and controllers of KRaft (since 2.8): `ApiMessageType.ListenerType`."""

LEADER_AND_ISR = 4
"""Sent by controllers to brokers with ZooKeeper; KRaft has no such request."""
VOTE = 52
"""Served by KRaft's controllers only (KIP-595)."""
FIRST_VENDOR_KEY = 500
"""Kafka assigns API keys in order, to 94 in 4.4. AutoMQ has keys of its own from 501 on, Confluent from 10000 on."""
WITH_PLUGIN_ONLY = frozenset((71, 72))
"""GetTelemetrySubscriptions and PushTelemetry: brokers without a telemetry plugin do not report them (KIP-714)."""


class Release(NamedTuple):
    """The API versions of a listener of a minor release.

    Attributes:
        name: the minor release, for example `0.10.2` or `3.9`.
        listener: `zk_broker`, or under KRaft `broker` or `controller`.
        versions: the lowest and highest version by API key.
    """

    name: str
    listener: Listener
    versions: Mapping[int, tuple[int, int]]

    def response(self) -> ApiVersionsResponse:
        """Return the versions as an ApiVersions response, for brokers before 0.10, which have no such API."""
        return _response(self.versions)

    def pin(self, response: ApiVersionsResponse) -> ApiVersionsResponse:
        """Return the versions of a response that this release has as well, so that a client uses no newer ones.

        APIs without a common version are left out, and so are features.
        """
        common = {}
        for api in response.api_keys:
            lowest, highest = self.versions.get(api.api_key, (0, -1))
            if max(lowest, api.min_version) <= min(highest, api.max_version):
                common[api.api_key] = max(lowest, api.min_version), min(highest, api.max_version)
        return _response(common)


class GuessedRelease(NamedTuple):
    """The releases that an ApiVersions response can come from.

    A broker of Kafka reports the versions of its release, so `oldest` is not newer than `newest`. They differ only if
    neighboring releases have the same versions. Any other response is from another implementation, from a newer
    release, or from a broker that offers less because its controller is older.

    Attributes:
        oldest: the oldest release with every version that the response has; None if no release has them all.
        newest: the newest release without a version that the response lacks; None if every release has one.
        is_exact: true if the response has the versions of a release.
    """

    oldest: Release | None
    newest: Release | None
    is_exact: bool

    def __str__(self) -> str:
        if self.oldest is None:
            return "unknown release" if self.newest is None else f"newer than {self.newest.name}"
        if self.newest is None:
            return f"part of {self.oldest.name}"
        if not self.is_exact:
            return f"between {self.newest.name} and {self.oldest.name}"
        return self.oldest.name if self.oldest.name == self.newest.name else f"{self.oldest.name} to {self.newest.name}"


class UnknownRelease(KwireError, LookupError):
    """The table does not have a release (`name`), or not with this listener (`listener`)."""

    def __init__(self, name: str, listener: Listener | None) -> None:
        super().__init__(name, listener)
        self.name = name
        self.listener = listener

    def __str__(self) -> str:
        names = [release.name for release in releases(self.listener or "broker")]
        if self.listener is None:
            names = list(dict.fromkeys(name for name, _ in _table()))
        return f"expected a release from {names[0]} to {names[-1]}, found {self.name!r}"


def releases(listener: Listener) -> tuple[Release, ...]:
    """Return the releases that have a listener, oldest first."""
    return tuple(release for release in _table().values() if release.listener == listener)


def release(name: str, listener: Listener | None = None) -> Release:
    """Return the API versions of a release.

    Args:
        name: a release, for example `3.9` or `3.9.1`. Patch releases do not change API versions.
        listener: None for brokers: with ZooKeeper up to 3.9, under KRaft since 4.0.

    Raises:
        UnknownRelease: the release is not in the table, or has no such listener.
    """
    for release in _table().values():
        if f"{name}.".startswith(f"{release.name}.") and release.listener == (listener or release.listener):
            return release
    raise UnknownRelease(name, listener)


def guess_release(response: ApiVersionsResponse) -> GuessedRelease:
    """Guess the release of the server that has sent an ApiVersions response.

    Highest versions are compared: Kafka 4 reports the lowest version of Produce as 0 for the sake of old clients. The
    listener follows from APIs that only one kind has. API keys of vendors say nothing about the release.
    """
    highest = {api.api_key: api.max_version for api in response.api_keys if 0 <= api.api_key < FIRST_VENDOR_KEY}
    if not highest:
        return GuessedRelease(None, None, is_exact=False)
    listener: Listener = "controller" if VOTE in highest else "zk_broker" if LEADER_AND_ISR in highest else "broker"
    candidates = releases(listener)
    oldest = newest = None
    for candidate in candidates:
        required = {key: last for key, (_, last) in candidate.versions.items() if key not in WITH_PLUGIN_ONLY}
        if all(highest.get(key, -1) >= last for key, last in required.items()):
            newest = candidate
        served = candidate.versions
        if oldest is None and all(key in served and last <= served[key][1] for key, last in highest.items()):
            oldest = candidate
    is_exact = oldest is not None and newest is not None and candidates.index(oldest) <= candidates.index(newest)
    return GuessedRelease(oldest, newest, is_exact)


def _response(versions: Mapping[int, tuple[int, int]]) -> ApiVersionsResponse:
    apis = (ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in versions.items())
    return ApiVersionsResponse(error_code=0, api_keys=tuple(apis))


@cache
def _table() -> dict[tuple[str, Listener], Release]:
    """Return the releases by name and listener, oldest first; brokers with ZooKeeper before others of a release."""
    table: dict[tuple[str, Listener], Release] = {}
    last: dict[Listener, dict[int, tuple[int, int]]] = {listener: {} for listener in LISTENERS}
    names: list[str] = []
    listener: Listener = "zk_broker"
    for line in (files(__package__) / "table.txt").read_text(encoding="ascii").splitlines()[1:]:
        if not line.startswith(" "):
            name, _, text = line.partition(" ")
            listener = next(candidate for candidate in LISTENERS if candidate == text)
            names.append(name)
            last[listener] = dict(last[listener])
            table[name, listener] = Release(name, listener, MappingProxyType(last[listener]))
            continue
        for change in line.split():
            key, _, versions = change.partition(":")
            if versions:
                low, _, high = versions.partition("-")
                last[listener][int(key)] = int(low), int(high)
            else:
                del last[listener][-int(key)]
    in_order = ((name, kind) for name in dict.fromkeys(names) for kind in LISTENERS)
    return {entry: table[entry] for entry in in_order if entry in table}
