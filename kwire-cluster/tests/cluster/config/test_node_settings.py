"""The settings of a node."""

from __future__ import annotations

import pytest

from kwire._util.properties import parse_properties
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.config.setting import SettingError
from tests.for_rows import for_rows

REQUIRED = {"broker.id": "1", "zookeeper.connect": "127.0.0.1:2181"}


def test_kafkas_file_is_read() -> None:
    text = """
    # a comment, that ends in a backslash \\
    ! another
    broker.id = 3
    zookeeper.connect: one:2181,\\
        two:2181/kafka
    listeners PLAINTEXT://:9092
    broker.rack=\\u00fcber
    log.dirs=/var/log
    num.partitions=4
    num.partitions=5
    """
    read = NodeSettings.from_properties(parse_properties(text))
    assert (read.id, read.zookeeper, read.listen) == (3, "one:2181,two:2181/kafka", ("127.0.0.1", 9092))
    assert (read.rack, read.num_partitions) == ("über", 5)
    assert read.unused == {"log.dirs": "/var/log"}


def test_defaults_leave_room_for_others() -> None:
    """One address cannot occupy all connections, and one request neither 100 MB nor a million topics."""
    defaults = NodeSettings()
    assert defaults.connections_per_address <= defaults.connections / 2
    assert defaults.request_bytes <= 4 * 1024 * 1024
    assert defaults.max_request_items <= 10_000


@for_rows(
    ("name", "text", "reason"),
    [
        ("broker.id", "one", "expected an integer"),
        ("broker.id", "-1", "expected an integer from 0 to 2147483647"),
        ("listeners", "A://a:1,B://b:2", "expected one address"),
        ("listeners", "host:65536", "expected one address"),
        ("listeners", f"{'h' * 100}:1", "invalid host name"),
        ("metrics.listener", "a..b:1", "invalid host name"),
        ("advertised.listeners", "A://0.0.0.0:9092", "expected an address that others can connect to"),
        ("advertised.listeners", "[::]:9092", "expected an address that others can connect to"),
        ("advertised.listeners", "A://host:0", "expected an address that others can connect to"),
        ("zookeeper.connect", "", "expected HOST:PORT,HOST:PORT/CHROOT"),
        ("zookeeper.connect", ":::", "expected HOST:PORT,HOST:PORT/CHROOT"),
        ("zookeeper.connect", "a:1,,b:2", "expected HOST:PORT,HOST:PORT/CHROOT"),
        ("zookeeper.connect", "a:65536", "expected HOST:PORT,HOST:PORT/CHROOT"),
        ("zookeeper.connect", f"a:1,{'h' * 100}:2", "with a valid host"),
        ("auto.create.topics.enable", "yes", "expected true or false"),
        ("max.connections", "0", "expected an integer from 1 to 2147483647"),
    ],
)
def test_invalid_value_is_rejected(name: str, text: str, reason: str) -> None:
    with pytest.raises(SettingError) as raised:
        NodeSettings.from_properties(REQUIRED | {name: text})
    assert (raised.value.name, raised.value.text) == (name, text)
    assert reason in str(raised.value)


@for_rows(
    ("text", "ensemble"),
    [
        ("a:1", "a:1"),
        ("a", "a"),
        ("one:2181, two:2181/kafka/x", "one:2181,two:2181/kafka/x"),
        ("[::1]:2181/", "[::1]:2181"),
    ],
)
def test_ensemble_may_have_default_ports_spaces_and_a_chroot(text: str, ensemble: str) -> None:
    assert NodeSettings.from_properties(REQUIRED | {"zookeeper.connect": text}).zookeeper == ensemble


@for_rows("missing", REQUIRED)
def test_id_and_ensemble_are_required(missing: str) -> None:
    with pytest.raises(SettingError, match="a node requires this setting"):
        NodeSettings.from_properties({name: text for name, text in REQUIRED.items() if name != missing})


def test_node_id_is_a_synonym_of_broker_id() -> None:
    assert NodeSettings.from_properties({"node.id": "5", "zookeeper.connect": "a:1"}).id == 5
    assert NodeSettings.from_properties({"node.id": "5", "broker.id": "4", "zookeeper.connect": "a:1"}).id == 4
