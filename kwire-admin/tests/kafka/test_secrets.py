"""A password appears nowhere: not in errors, logs, tracebacks, process lists, plans, and event logs."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire._util.properties import format_properties
from kwire.client import AuthenticationFailed, Connection, ConnectionConfig
from kwire.client.security import PlainCredentials, ScramCredentials, Secret
from kwire.messages.kafka.metadata import MetadataRequest
from tests.cli.running import COMMAND, environment
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from kwire.client.security import SaslCredentials
    from tests.real_kafka import Kafka44
    from tests.real_kafka.security import ClusterSecurity

WRONG = "wrong-password-7"
RIGHT = "admin-password"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, env=environment(), check=False, text=True)


@pytest.mark.parametrize(
    "credentials",
    [PlainCredentials("admin", Secret(WRONG)), ScramCredentials("admin", Secret(WRONG))],
    ids=["PLAIN", "SCRAM"],
)
async def test_rejected_password_is_not_in_error_traceback_or_log(
    secured44: Kafka44, security: ClusterSecurity, credentials: SaslCredentials, caplog: pytest.LogCaptureFixture
) -> None:
    config = ConnectionConfig(tls=security.tls(), sasl=credentials)
    asyncio.get_running_loop().set_debug(True)
    asyncio.get_running_loop().slow_callback_duration = 0.0  # logs the arguments of every callback

    with caplog.at_level(logging.DEBUG), pytest.raises(AuthenticationFailed) as caught:
        await Connection.open(secured44.bootstrap, config=config)

    error = caught.value
    shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "credentials" in shown
    assert "Executing" in caplog.text
    for text in (str(error), repr(error), repr(error.args), shown, caplog.text, repr(config)):
        assert WRONG not in text


async def test_password_in_flight_is_not_in_the_log(
    secured44: Kafka44, security: ClusterSecurity, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.get_running_loop().set_debug(True)
    asyncio.get_running_loop().slow_callback_duration = 0.0

    with caplog.at_level(logging.DEBUG):
        async with await Connection.open(secured44.bootstrap, config=security.config("PLAIN")) as connection:
            await connection.send(MetadataRequest(topics=()))

    assert RIGHT not in caplog.text
    assert RIGHT not in repr(vars(connection))


def test_capture_takes_the_password_from_a_file(secured44: Kafka44, security: ClusterSecurity, tmp_path: Path) -> None:
    properties = security.write_properties(tmp_path / "client.properties", "SCRAM-SHA-512")
    out = tmp_path / "out"
    command = [*COMMAND, "capture", "-b", secured44.bootstrap, "--command-config", str(properties), str(out)]

    with subprocess.Popen(
        [*command, "--duration", "3", "--interval", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        eventually_sync(lambda: out.exists() and any(out.iterdir()))
        listed = Path(f"/proc/{process.pid}/cmdline").read_bytes() + Path(f"/proc/{process.pid}/environ").read_bytes()
        printed, warned = process.communicate()

    assert process.returncode == 0, warned.decode()
    assert b" 0 failed" in printed
    for text in (listed, printed, warned, *(path.read_bytes() for path in out.rglob("*") if path.is_file())):
        assert RIGHT.encode() not in text


def test_capture_with_a_wrong_password_records_the_cause(
    secured44: Kafka44, security: ClusterSecurity, tmp_path: Path
) -> None:
    values = security.properties("PLAIN")
    values["sasl.jaas.config"] = values["sasl.jaas.config"].replace(RIGHT, WRONG)
    properties = tmp_path / "client.properties"
    properties.write_text(format_properties(values))
    properties.chmod(0o644)
    command = [*COMMAND, "capture", "-b", secured44.bootstrap, "--command-config", str(properties), "--duration", "1"]

    done = subprocess.run(
        [*command, str(tmp_path / "out")], capture_output=True, env=environment(), check=False, text=True
    )
    replayed = subprocess.run(
        [*COMMAND, "replay", str(tmp_path / "out")], capture_output=True, env=environment(), check=False, text=True
    )

    assert f"Warning: {properties} contains secrets, and all users of this machine can read it" in done.stderr
    assert "SASL/PLAIN authentication of user 'admin' failed: Authentication failed" in replayed.stdout
    assert WRONG not in done.stdout + done.stderr + replayed.stdout + replayed.stderr


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n", "client.properties: sasl.jaas.config: is missing"),
        (None, "cannot read "),
    ],
)
def test_unusable_configuration_is_wrong_usage(tmp_path: Path, content: str | None, text: str) -> None:
    properties = tmp_path / "client.properties"
    if content is not None:
        properties.write_text(content)
    command = [*COMMAND, "capture", "-b", "127.0.0.1:1", "--command-config", str(properties), str(tmp_path / "out")]

    done = run(*command)

    assert done.returncode == 2
    assert "--command-config" in done.stderr
    assert text in done.stderr
    assert not (tmp_path / "out").exists()
