"""Files of client properties: encodings, repeated keys, permissions, and what loading one logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.security import ClientProperties, PlainCredentials, Secret, SecurityConfigError
from tests.client.security.test_client_properties import PASSWORD, PLAIN
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from pathlib import Path


def test_file_is_read_as_java_does(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "# a comment\n"
        "security.protocol : SASL_SSL\n"
        "sasl.mechanism PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        '    username="al\\u0069ce" \\\n'
        f'    password="{PASSWORD}";\n'
    )
    path.chmod(0o600)

    properties = ClientProperties.load(path)

    assert properties.connection.sasl == PlainCredentials("alice", Secret(PASSWORD))
    assert properties.warnings == ()


@for_rows("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_no_encoding_loses_a_key(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "client.properties"
    text = f"security.protocol=SASL_SSL\r\nsasl.mechanism=PLAIN\r\nsasl.jaas.config={PLAIN}\r\n"
    path.write_bytes(text.encode(encoding))
    path.chmod(0o600)

    properties = ClientProperties.load(path)

    assert properties.connection.security_protocol == "SASL_SSL"
    assert properties.connection.sasl == PlainCredentials("alice", Secret(PASSWORD))
    assert properties.warnings == ()


@for_rows("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_unknown_encoding_is_an_error(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes(f"security.protocol=SASL_SSL\nsasl.jaas.config={PLAIN}\n".encode(encoding))

    with pytest.raises(SecurityConfigError, match="NUL characters") as caught:
        ClientProperties.load(path)
    assert PASSWORD not in repr(caught.value)


def test_file_that_all_users_can_read_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN}\n")
    path.chmod(0o604)

    assert ClientProperties.load(path).warnings == (
        f"{path} contains secrets, and all users of this machine can read it: run chmod 600",
    )


def test_readable_file_without_secrets_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SSL\n")
    path.chmod(0o644)

    assert ClientProperties.load(path).warnings == ()


def test_load_logs_warnings_and_no_secrets(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN}\nssl.typo=x\n")
    path.chmod(0o600)

    config = ClientProperties.load(path).connection

    assert caplog.messages == [f"{path}: ssl.typo: unknown key"]

    warnings: list[str] = []
    assert ClientProperties.load(path, warn=warnings.append).warnings == tuple(warnings)
    assert warnings == [f"{path}: ssl.typo: unknown key"]
    assert len(caplog.messages) == 1, "they are logged or given to `warn`"
    assert PASSWORD not in caplog.text + repr(config) + str(config)


def test_repeated_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SSL\nclient.id=a\nsecurity.protocol=PLAINTEXT\nclient.id=a\n")
    said: list[str] = []

    loaded = ClientProperties.load(path, warn=said.append)

    assert loaded.connection.security_protocol == "PLAINTEXT"
    assert said == [f"{path}: security.protocol: set several times: the last value counts"]
