"""Java properties files, compared with Java."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire._util.properties import format_properties, parse_properties

if TYPE_CHECKING:
    from pathlib import Path

keys = st.text(min_size=1, max_size=8)


@given(st.dictionaries(keys, st.text(max_size=12).map(lambda text: text.rstrip(" \t\f")), max_size=5))
def test_formatted_properties_parse_to_the_same(properties: dict[str, str]) -> None:
    text = format_properties(properties)
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


@pytest.mark.usefixtures("java")
def test_java_parses_the_same(tmp_path: Path) -> None:
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
    done = subprocess.run(["java", str(program), *files], capture_output=True, text=True, check=True)
    for text, line in zip(texts, done.stdout.split("\n"), strict=False):
        pairs = (pair.split("=") for pair in line.split())
        java = {bytes.fromhex(k).decode("utf-16-be"): bytes.fromhex(v).decode("utf-16-be") for k, v in pairs}
        trimmed = {key: value.rstrip(" \t\f") for key, value in java.items()}
        parsed = {key: value.rstrip(" \t\f") for key, value in parse_properties(text).items()}
        assert parsed == trimmed, text
