"""Delegation tokens of real clusters: they authenticate until they expire, and their secrets are not shown."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from kwire.client import AuthenticationFailed, Connection, ConnectionConfig
from kwire.client.admin import AdminClient
from kwire.client.security import ScramCredentials, Secret
from tests.cli.administration import Operator
from tests.eventually import eventually
from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.security import ClusterSecurity


async def test_token_of_the_command_authenticates_until_it_expires(
    secured_operator: Operator, secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    operator = secured_operator
    file = tmp_path / "job.hmac"
    create = ("tokens", "create", "--hmac-file", file, "--renewer", "User:alice")

    assert operator.json(*create, "--dry-run")[0]["status"] == "would be created"
    assert not file.exists()
    [created] = operator.json(*create)
    secret = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in str(created)
    again = operator.run(*create)
    assert again.code == 2
    assert f"{file} exists already" in again.err

    credentials = ScramCredentials(created["name"], Secret(secret), token=True)
    config = ConnectionConfig(tls=security.tls(), sasl=credentials)

    async def accepted() -> bool:
        try:
            async with await Connection.open(secured.bootstrap, config=config):
                return True
        except AuthenticationFailed:
            return False

    authenticated: bool = await eventually(accepted, "the token is accepted")
    assert authenticated
    [listed] = operator.json("tokens", "list", "--owner", "User:admin")
    assert (listed["name"], listed["owner"], listed["requester"]) == (created["name"], "User:admin", "User:admin")
    assert listed["renewers"] == ["User:alice"]
    assert secret not in str(listed)
    assert operator.json("tokens", "list", "--owner", "User:stranger") == []

    token = ("--", created["name"])  # an id is random base64, so it can begin with a hyphen
    assert operator.json("tokens", "renew", "--dry-run", *token)[0]["status"] == "would be renewed"
    [renewed] = operator.json("tokens", "renew", "--period-ms", "3600000", *token)
    assert renewed["status"] == "renewed"
    assert renewed["expires"] < created["expires"], "an hour instead of a day"
    unknown = operator.run("tokens", "renew", "nosuch")
    assert unknown.code == 2
    assert "delegation token 'nosuch' does not exist" in unknown.err

    unconfirmed = operator.run("tokens", "expire", *token)
    assert unconfirmed.code == 2
    assert f"Expire {created['name']}? Confirm with --yes" in unconfirmed.err
    assert operator.json("tokens", "expire", "--yes", *token)[0]["status"] == "expired"

    async def rejected() -> bool:
        return not await accepted()

    refused: bool = await eventually(rejected, "the expired token is rejected")
    assert refused


async def test_client_hides_the_secret(secured: KafkaCluster, security: ClusterSecurity) -> None:
    async with await AdminClient.open(secured.bootstrap, config=security.config()) as admin:
        token = await admin.create_delegation_token(max_lifetime_ms=60_000)
        assert token.hmac.reveal() not in repr(token)
        assert token.max_timestamp_ms == token.issue_timestamp_ms + 60_000

        async def described() -> bool:
            return token in await admin.describe_delegation_tokens(["User:admin"])

        found: bool = await eventually(described, "the token is described")
        assert found
        await admin.expire_delegation_token(token.hmac)


def test_refused_token_leaves_no_file(cluster: KafkaCluster, tmp_path: Path) -> None:
    file = tmp_path / "job.hmac"

    run = Operator(cluster.bootstrap).run("tokens", "create", "--hmac-file", file)

    assert (run.code, run.out) == (1, "")
    assert "DELEGATION_TOKEN" in run.err
    assert not file.exists()


def test_secret_of_a_token_is_in_the_response_of_the_server_and_not_in_its_log(
    secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    properties = security.write_properties(tmp_path / "client.properties", "SCRAM-SHA-512")
    with ServerProcess(secured.bootstrap, "--command-config", properties, "--anonymous", "change") as server:
        dry = server.post("/api/v1/tokens/create", {"dry_run": True})
        assert (dry.status, "files" in dry.body) == (200, False)
        created = server.post("/api/v1/tokens/create", {"max_lifetime_ms": 60_000})
        assert created.status == 200, created
        secret = created.body["files"]["hmac_file"].strip()
        assert secret
        assert secret not in str(created.body["rows"]) + server.log()
