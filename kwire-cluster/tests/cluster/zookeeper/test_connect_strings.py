"""Connect strings as people write them: what ZooKeeper's client takes, or a sentence that says what to write."""

from __future__ import annotations

import pytest

from kwire_cluster.zookeeper.connection import check_hosts
from kwire_cluster.zookeeper.errors import InvalidConnectString


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("zk:2181", "zk:2181"),
        ("zk", "zk"),
        (" zk-1:2181, zk-2:2181/kafka\n", "zk-1:2181,zk-2:2181/kafka"),
        ("zk:2181/", "zk:2181"),
        ("zk:2181/a/b/", "zk:2181/a/b"),
        ("[::1]:2181,[fe80::1%eth0]/k", "[::1]:2181,[fe80::1%eth0]/k"),
        ("10.0.0.1:2181\r\n", "10.0.0.1:2181"),
        ("zk:2181//k", "zk:2181/k"),
        ("zk.example. : 2181 /k", "zk.example.:2181/k"),
    ],
)
def test_connect_string_is_taken(written: str, taken: str) -> None:
    assert check_hosts(written) == taken


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("zookeeper://zk:2181/k", "without zookeeper://"),
        ("zk:2181/k,zk-2:2181/k", "with the chroot once, behind the last host"),
        (",zk:2181", "without an empty host"),
        ("zk:2181,", "without an empty host"),
        ("", "without an empty host"),
        ("\n", "without an empty host"),
        ("/kafka", "without an empty host"),
        ("zk:port", "with a port from 1 to 65535 instead of 'port'"),
        ("zk:", "with a port from 1 to 65535 instead of ''"),
        ("zk:0", "with a port from 1 to 65535 instead of '0'"),
        ("zk:65536", "with a port from 1 to 65535 instead of '65536'"),
        ("::1:2181", "(IPv6 in brackets)"),
        ("zk;zk-2", "with a comma between two hosts"),
        ("zk:2181 zk-2:2181", "with a comma between two hosts"),
        ("zk:2181/k;zk-2:2181/k", "with a comma between two hosts"),
        ("zk:2181/a b", "with a chroot without spaces"),
        ("zk..example:2181", "with a valid host instead of 'zk..example'"),
        (f"{'z' * 64}:2181", "with a valid host instead of 'zzz"),
        ("zk:2181/a/../b", "with valid znodes in the chroot instead of '..'"),
        ("user:secret@zk:2181", "without a user"),
    ],
)
def test_mistake_is_named(written: str, instead: str) -> None:
    with pytest.raises(InvalidConnectString, match="expected HOST:PORT,HOST:PORT/CHROOT, ") as caught:
        check_hosts(written)

    assert instead in str(caught.value)
    assert "secret" not in str(caught.value)
