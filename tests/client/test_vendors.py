"""Brokers of vendors: what works is what the page about them says, with brokers that list what theirs do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client import AdminClient, ClientProperties, Connection, ConnectionConfig, Poller
from kwire.client.admin import ConfigResource, ConfigResourceType, GroupLag, TopicDescription
from kwire.client.security import PlainCredentials, Secret
from kwire.messages import find
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsResponse
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol import Endpoint, NegotiatedVersions, NoCommonVersion
from kwire.testing import FakeCluster
from tests.client.secured_broker import SecuredListener, secured_listener
from tests.client.vendors import OPERATIONS, VENDORS, Vendor
from tests.docs.pages import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = DOCS / "how-to" / "clouds.md"
BROKER = Endpoint("broker", 9092)
STORE_PASSWORD = "store-password"


def negotiated(vendor: Vendor) -> NegotiatedVersions:
    keys = (ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in vendor.versions.items())
    return NegotiatedVersions(BROKER, ApiVersionsResponse(error_code=0, api_keys=tuple(keys)))


def support(vendor: Vendor, keys: tuple[int, ...]) -> str:
    """Return whether client and broker have versions of all APIs in common: yes, no, or ? if that is not known."""
    versions = negotiated(vendor)
    found = []
    for key in keys:
        request: Any = find("kafka", api_key=key, kind="request")
        try:
            versions.version_of(request)
            found.append("yes")
        except NoCommonVersion:
            found.append("?" if key in vendor.unknown else "no")
    return "no" if "no" in found else "?" if "?" in found else "yes"


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    result: Vendor = request.param
    return result


@pytest.fixture
def cluster(vendor: Vendor) -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 100, 1: 100})
        cluster.set_group("billing", {"orders": {0: 40, 1: 60}})
        for key in range(100):  # an empty range: the broker does not have the API
            cluster.set_api_versions(key, 0, -1)
        for key, (lowest, highest) in vendor.versions.items():
            cluster.set_api_versions(key, lowest, highest)
        yield cluster


def test_table_of_the_page_has_the_versions() -> None:
    columns = [vendor for vendor in VENDORS if "2019" not in vendor.name]
    rows = [
        ["kafka", *(vendor.name for vendor in columns)],
        ["---"] * (1 + len(columns)),
        *([operation, *(support(vendor, keys) for vendor in columns)] for operation, keys in OPERATIONS.items()),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    assert table in PAGE.read_text(encoding="utf-8"), table


def test_page_names_every_source() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for vendor in VENDORS:
        assert vendor.name.partition(",")[0] in text


def test_every_vendor_speaks_kafka(vendor: Vendor) -> None:
    versions = negotiated(vendor)
    assert versions.dialect == "kafka"
    assert set(versions.versions) == set(vendor.versions), "unknown keys are kept"
    assert versions.version_of(MetadataRequest) <= vendor.versions[3][1]


async def test_clients_use_what_a_broker_has_and_name_what_it_lacks(vendor: Vendor, cluster: FakeCluster) -> None:
    async with Poller(cluster.bootstrap, interval=0.05, brokers="one", dialect="kafka") as poller:
        poll = await anext(poller)
    assert poll.error is None
    assert poll.message is not None
    assert [topic.name for topic in poll.message.topics] == ["orders"]

    async with await AdminClient.open(cluster.bootstrap, timeout=10) as admin:
        assert admin.dialect == "kafka"
        topic = (await admin.describe_topics(["orders"]))["orders"]
        assert isinstance(topic, TopicDescription)
        assert len(topic.partitions) == 2
        lag = (await admin.group_lags(["billing"]))["billing"]
        assert isinstance(lag, GroupLag)
        assert lag.total == 100
        resource = ConfigResource(ConfigResourceType.TOPIC, "orders")
        if support(vendor, (32,)) == "yes":
            assert resource in await admin.describe_configs([resource])
        else:
            with pytest.raises(NoCommonVersion, match="DescribeConfigs"):
                await admin.describe_configs([resource])


async def test_plain_logs_in_with_the_handshake_of_the_broker(vendor: Vendor, cluster: FakeCluster) -> None:
    listener = SecuredListener(
        mechanisms=("PLAIN",),
        handshake=vendor.handshake,
        authenticate=vendor.versions.get(36),
        closes_above=3 if vendor.name == "Event Hubs" else 100,  # twmb/franz-go#1022
    )
    async with secured_listener(cluster, listener):
        config = ConnectionConfig(sasl=PlainCredentials("$ConnectionString", Secret("Endpoint=sb://x/")))
        async with await Connection.open(listener.address, config=config) as connection:
            await connection.send(MetadataRequest(topics=None))

    assert listener.handshakes == [0 if vendor.handshake == (0, 0) else 1]
    assert listener.tokens == [b"\0$ConnectionString\0Endpoint=sb://x/"]


@pytest.mark.parametrize("text", blocks(PAGE, "properties"))
def test_files_of_the_page_can_be_read(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = DOCS.parent / "tests" / "data" / "stores"
    for name in ("API_SECRET", "MSK_PASSWORD", "CONNECTION_STRING", "STORE_PASSWORD"):
        monkeypatch.setenv(name, STORE_PASSWORD)
    for line in text.splitlines():
        if line.startswith(("ssl.truststore.location=", "ssl.keystore.location=")):
            path = line.partition("=")[2]
            source = stores / ("client.p12" if "user" in path else "trust.p12")
            (tmp_path / path.rpartition("/")[2]).write_bytes(source.read_bytes())
    file = tmp_path / "client.properties"
    file.write_text(text.replace("/etc/kafka/", f"{tmp_path}/"))
    file.chmod(0o600)

    loaded = ClientProperties.load(file)

    assert loaded.warnings == ()
    assert loaded.connection.tls is not None
    assert loaded.bootstrap_servers is not None
