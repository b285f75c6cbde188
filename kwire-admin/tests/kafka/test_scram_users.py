"""SCRAM users of real clusters: passwords that the command sets authenticate, and are never shown."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import termios
from typing import TYPE_CHECKING

import pytest

from kwire.client import AuthenticationFailed, Connection, ConnectionConfig
from kwire.client.admin import AdminClient, ScramMechanismName, UserScramCredentialUpsertion
from kwire.client.security import ScramCredentials, Secret
from tests.cli.administration import Operator
from tests.cli.running import COMMAND, environment
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kwire.protocol.scram_passwords import ScramName
    from tests.real_kafka import Kafka44, KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

pytestmark = pytest.mark.change

PASSWORD = "correct horse, battery=staple \u00e9"


async def wait_authenticates(
    cluster: KafkaCluster, security: ClusterSecurity, password: str, mechanism: ScramName = "SCRAM-SHA-512"
) -> None:
    """Wait until a password is accepted: brokers learn about it after the response to the command."""

    async def accepted() -> bool:
        return await authenticates(cluster, security, password, mechanism)

    found: bool = await eventually(accepted, "the password is accepted")
    assert found


async def authenticates(
    cluster: KafkaCluster, security: ClusterSecurity, password: str, mechanism: ScramName = "SCRAM-SHA-512"
) -> bool:
    credentials = ScramCredentials("dora", Secret(password), mechanism=mechanism)
    config = ConnectionConfig(tls=security.tls(), sasl=credentials)
    try:
        async with await Connection.open(cluster.bootstrap, config=config):
            return True
    except AuthenticationFailed:
        return False


def type_on_terminal(arguments: Sequence[str | Path], answers: Sequence[str]) -> tuple[int, str]:
    """Run the command on its own terminal, and type an answer after each prompt; return what was shown."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment(),
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  # no thread runs yet
    )
    os.close(terminal)
    shown, waiting = b"", list(answers)
    while True:
        try:
            chunk = os.read(controller, 1 << 16)
        except OSError:  # Linux raises this when the last process has closed the terminal
            break
        if not chunk:
            break
        shown += chunk
        if waiting and chunk.rstrip(b" ").endswith(b":"):
            os.write(controller, f"{waiting.pop(0)}\n".encode())
    os.close(controller)
    return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")


async def test_password_of_the_command_authenticates(
    secured_operator: Operator, secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    operator = secured_operator
    file = tmp_path / "dora.password"
    file.touch(mode=0o600)
    file.write_text(f"{PASSWORD}\n")
    set_dora = ("users", "set", "dora", "--password-file")

    assert operator.json(*set_dora, file, "--dry-run")[0]["status"] == "would be created"
    assert operator.json(*set_dora, file) == [{"name": "dora", "status": "created", "attempts": 1}]
    await wait_authenticates(secured, security, PASSWORD)
    assert not await authenticates(secured, security, "another one")
    operator.json(*set_dora, "-", "--mechanism", "scram-sha-256", "--iterations", "8192", stdin="from stdin")
    await wait_authenticates(secured, security, "from stdin", "SCRAM-SHA-256")
    assert operator.json("users", "list", "dora") == [
        {
            "name": "dora",
            "credentials": [
                {"mechanism": "SCRAM-SHA-256", "iterations": 8192},
                {"mechanism": "SCRAM-SHA-512", "iterations": 4096},
            ],
        }
    ]
    assert [row["name"] for row in operator.json("users", "list")] == ["admin", "alice", "dora"]

    assert operator.run("users", "delete", "dora").code == 2
    dry = operator.json("users", "delete", "dora", "stranger", "--dry-run", code=1)
    assert [row.get("status") for row in dry] == [None, "would be deleted", "would be deleted"]
    assert dry[0]["error"]["name"] == "RESOURCE_NOT_FOUND"
    deleted = operator.json("users", "delete", "dora", "--yes")
    assert [(row["mechanism"], row["status"]) for row in deleted] == [
        ("SCRAM-SHA-256", "deleted"),
        ("SCRAM-SHA-512", "deleted"),
    ]

    async def rejected() -> bool:
        return not await authenticates(secured, security, PASSWORD)

    gone: bool = await eventually(rejected, "the deleted user is rejected")
    assert gone
    assert [row["name"] for row in operator.json("users", "list")] == ["admin", "alice"]


async def test_password_is_asked_for_and_not_echoed(
    secured44: Kafka44, security: ClusterSecurity, tmp_path: Path
) -> None:
    config = security.write_properties(tmp_path / "admin.properties", "PLAIN")
    command = ("-b", secured44.bootstrap, "--command-config", config, "users", "set", "dora")

    code, shown = type_on_terminal(command, ["typed", "typed"])

    assert code == 0, shown
    assert "Password" in shown
    assert "typed" not in shown
    await wait_authenticates(secured44, security, "typed")
    removed = Operator(secured44.bootstrap, config).json("users", "delete", "dora", "--yes")
    assert len(removed) == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        ([], "", "give the password with --password-file FILE; - is stdin"),
        (["--password-file", "-"], "two\nlines\n", "stdin does not contain one line with the password"),
        (["--password-file", "/nosuch/file"], "", "cannot read the password from /nosuch/file: No such file"),
        (["--password-file", "-", "--iterations", "7"], "hidden-text", "--iterations: expected at least 4096, found 7"),
        (
            ["--password-file", "-", "--mechanism", "UNKNOWN"],
            "hidden-text",
            "is not one of 'scram-sha-256', 'scram-sha-512'",
        ),
    ],
)
def test_wrong_input_is_named(kafka44: Kafka44, arguments: list[str], stdin: str, sentence: str) -> None:
    run = Operator(kafka44.bootstrap).run("users", "set", "dora", *arguments, stdin=stdin)

    assert (run.code, run.out) == (2, "")
    assert sentence in run.err
    assert "hidden-text" not in run.err


def test_file_that_all_users_can_read_gives_a_warning(kafka44: Kafka44, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("hidden-text")
    file.chmod(0o644)

    run = Operator(kafka44.bootstrap).run("users", "set", "dora", "--password-file", file, "--dry-run")

    assert run.code == 0
    assert f"Warning: {file} contains secrets, and all users of this machine can read it" in run.err


async def test_client_hides_passwords_and_reports_the_error_of_a_user(cluster: KafkaCluster) -> None:
    credential = UserScramCredentialUpsertion(user="eve", password=Secret("hidden-text"), iterations=99_999)
    assert "hidden-text" not in repr(credential)
    with pytest.raises(ValueError, match="the password is empty"):
        UserScramCredentialUpsertion(user="eve", password=Secret(""))

    async with await AdminClient.open(cluster.bootstrap) as admin:
        refused = (await admin.alter_user_scram_credentials([credential])).errors["eve"]
        assert refused.name == "UNACCEPTABLE_CREDENTIAL"
        assert "hidden-text" not in str(refused)
        assert await admin.describe_user_scram_credentials() == {}
        assert ScramMechanismName.of_code(77) is ScramMechanismName.UNKNOWN
