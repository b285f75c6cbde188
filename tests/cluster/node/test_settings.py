"""Files of Java's properties, as Java reads them, and what a node makes of them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.cluster.node.settings import NodeSettings, SettingError, parse_properties, write_properties
from kwire.cluster.zookeeper.embedded_server import command

if TYPE_CHECKING:
    from pathlib import Path

NEEDED = {"broker.id": "1", "zookeeper.connect": "127.0.0.1:2181"}


def test_a_servers_file() -> None:
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
    read = NodeSettings.read(parse_properties(text))
    assert (read.id, read.zookeeper, read.listen) == (3, "one:2181,two:2181/kafka", ("127.0.0.1", 9092))
    assert (read.rack, read.num_partitions) == ("über", 5)
    assert read.unused == {"log.dirs": "/var/log"}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("broker.id", "one", "it has to be a whole number"),
        ("broker.id", "-1", "it has to be between 0 and 2147483647"),
        ("listeners", "A://a:1,B://b:2", "it has to be one address"),
        ("listeners", "host:65536", "it has to be one address"),
        ("listeners", f"{'h' * 100}:1", "no host can have this name"),
        ("metrics.listener", "a..b:1", "no host can have this name"),
        ("advertised.listeners", "A://0.0.0.0:9092", "it has to be an address that others can connect to"),
        ("advertised.listeners", "[::]:9092", "it has to be an address that others can connect to"),
        ("advertised.listeners", "A://host:0", "it has to be an address that others can connect to"),
        ("zookeeper.connect", "", "it has to be host:port,host:port/chroot"),
        ("zookeeper.connect", ":::", "it has to be host:port,host:port/chroot"),
        ("zookeeper.connect", "a:1,,b:2", "it has to be host:port,host:port/chroot"),
        ("zookeeper.connect", "a:65536", "it has to be host:port,host:port/chroot"),
        ("zookeeper.connect", f"a:1,{'h' * 100}:2", "no host can have this name"),
        ("zookeeper.connect", "a:1//x", "no part of it may be empty"),
        ("auto.create.topics.enable", "yes", "it has to be true or false"),
        ("max.connections", "0", "it has to be between 1 and 2147483647"),
    ],
)
def test_what_cannot_be_read_is_told_with_name_and_text(name: str, text: str, reason: str) -> None:
    with pytest.raises(SettingError) as raised:
        NodeSettings.read(NEEDED | {name: text})
    assert (raised.value.name, raised.value.text) == (name, text)
    assert reason in str(raised.value)


@pytest.mark.parametrize("text", ["a:1", "a", "one:2181, two:2181/kafka/x", "[::1]:2181/", "ü.example:1"])
def test_an_ensemble_is_taken_as_kafka_writes_it(text: str) -> None:
    assert NodeSettings.read(NEEDED | {"zookeeper.connect": text}).zookeeper == text


@pytest.mark.parametrize("missing", NEEDED)
def test_a_node_needs_an_id_and_a_zookeeper(missing: str) -> None:
    with pytest.raises(SettingError, match="a node cannot start without it"):
        NodeSettings.read({name: text for name, text in NEEDED.items() if name != missing})


def test_options_stand_above_the_file_and_node_id_is_read_too() -> None:
    read = NodeSettings.read({"node.id": "5", "zookeeper.connect": "a:1"}, zookeeper="b:2", id=None)
    assert (read.id, read.zookeeper) == (5, "b:2")


keys = st.text(min_size=1, max_size=8)


@given(st.dictionaries(keys, st.text(max_size=12).map(lambda text: text.rstrip(" \t\f")), max_size=5))
def test_what_is_written_is_read_again(properties: dict[str, str]) -> None:
    text = write_properties(properties)
    assert text.isascii()
    assert parse_properties(text) == properties


JAVA = """
import java.io.*; import java.nio.charset.StandardCharsets; import java.util.*;
class Read {
    public static void main(String[] files) throws Exception {
        for (String file : files) {
            Properties read = new Properties();
            try (InputStream in = new FileInputStream(file)) { read.load(in); }
            StringBuilder out = new StringBuilder();
            for (String name : new TreeSet<>(read.stringPropertyNames())) {
                out.append(hex(name)).append('=').append(hex(read.getProperty(name))).append(' ');
            }
            System.out.println(out);
        }
    }
    static String hex(String text) {
        StringBuilder out = new StringBuilder();
        for (byte each : text.getBytes(StandardCharsets.UTF_16BE)) out.append(String.format("%02x", each));
        return out.toString();
    }
}
"""


def test_java_reads_the_same(tmp_path: Path) -> None:
    texts: list[str] = []

    @settings(max_examples=300)
    @given(st.lists(st.sampled_from(["a", "b", "=", ":", " ", "\t", "\f", "#", "!", "\\", "\n", "\r", "é", "\\u0041"])))
    def collect(parts: list[str]) -> None:
        texts.append("".join(parts))

    collect()
    program = tmp_path / "Read.java"
    program.write_text(JAVA, encoding="ascii")
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.properties").write_bytes(text.encode("latin-1"))
    files = [str(tmp_path / f"{number}.properties") for number in range(len(texts))]
    told = subprocess.run([command(), str(program), *files], capture_output=True, text=True, check=True)
    for text, line in zip(texts, told.stdout.split("\n"), strict=False):
        pairs = (pair.split("=") for pair in line.split())
        java = {bytes.fromhex(k).decode("utf-16-be"): bytes.fromhex(v).decode("utf-16-be") for k, v in pairs}
        trimmed = {key: value.rstrip(" \t\f") for key, value in java.items()}
        ours = {key: value.rstrip(" \t\f") for key, value in parse_properties(text).items()}
        assert ours == trimmed, text
