"""IAM of Amazon MSK: the signature is verified as AWS does, with Signature Version 4 written a second time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from kwire.client import AdminClient, ClientProperties, ConnectionConfig
from kwire.client.security import MskIamCredentials, SecurityConfigError
from kwire.client.security.msk_iam import region_of
from kwire.protocol import AuthenticationFailed, Endpoint
from kwire.protocol.sasl import SaslError
from kwire.testing import FakeCluster
from tests.client.secured_broker import SecuredListener, secured_listener
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEY_ID, SECRET, SESSION_TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/token+=="
BROKER = Endpoint("b-1.orders.abc123.c2.kafka.eu-central-1.amazonaws.com", 9098)
IAM = "software.amazon.msk.auth.iam"


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def signature(host: str, parameters: Mapping[str, str], region: str, secret: str) -> str:
    """Return the signature of a request to connect, from the specification of Signature Version 4."""
    query = "&".join(
        f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(parameters.items())
    )
    request = f"GET\n/\n{query}\nhost:{host}\n\nhost\n{hashlib.sha256(b'').hexdigest()}"
    time = parameters["X-Amz-Date"]
    scope = f"{time[:8]}/{region}/kafka-cluster/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def check(host: str, parameters: dict[str, str], region: str = "eu-central-1") -> None:
    """Check the parameters of a request that is signed with the keys of the environment."""
    expected = parameters.pop("X-Amz-Signature")
    assert parameters["Action"] == "kafka-cluster:Connect"
    assert parameters["X-Amz-Credential"].startswith(f"{KEY_ID}/")
    assert int(parameters["X-Amz-Expires"]) <= 900
    assert signature(host, parameters, region, SECRET) == expected


async def token_of(credentials: MskIamCredentials, endpoint: Endpoint = BROKER) -> tuple[str, dict[str, str]]:
    """Return host and parameters of the token of OAUTHBEARER."""
    first = (await credentials.start(endpoint)).respond(b"")
    assert first is not None
    token = first.decode().split("\x01")[1].removeprefix("auth=Bearer ")
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    parameters = dict(parse_qsl(url.query))
    assert parameters.pop("User-Agent") == "kwire"
    return url.netloc, parameters


@pytest.mark.parametrize("session_token", [None, SESSION_TOKEN])
async def test_token_of_oauthbearer_is_a_signed_url_of_the_region(
    monkeypatch: pytest.MonkeyPatch, session_token: str | None
) -> None:
    if session_token is not None:
        monkeypatch.setenv("AWS_SESSION_TOKEN", session_token)

    host, parameters = await token_of(MskIamCredentials())

    assert host == "kafka.eu-central-1.amazonaws.com"
    assert parameters.get("X-Amz-Security-Token") == session_token
    check(host, parameters)


async def test_message_of_aws_msk_iam_is_a_signed_request_to_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION_TOKEN)
    mechanism = await MskIamCredentials(mechanism="AWS_MSK_IAM").start(BROKER)

    first = mechanism.respond(b"")
    assert first is not None
    before = mechanism.is_complete
    assert mechanism.respond(b'{"version":"2020_10_22","request-id":"1"}') is None
    assert (before, mechanism.is_complete) == (False, True)

    message = json.loads(first)
    assert (message.pop("version"), message.pop("user-agent")) == ("2020_10_22", "kwire")
    host = message.pop("host")
    assert host == BROKER.host
    names = {"action": "Action", "x-amz-signedheaders": "X-Amz-SignedHeaders"}
    check(host, {names.get(name, name.title()): value for name, value in message.items()})


@for_rows(
    ("host", "region"),
    [
        (BROKER.host, "eu-central-1"),
        ("boot-x.c3.kafka-serverless.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("b-2.c.x.c4.kafka.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("B-1.C.X.C2.Kafka.US-East-1.AmazonAWS.com", "us-east-1"),
        ("kafka.example.com", None),
        ("b-1.kafka.us-east-1.amazonaws.com.example.com", None),
    ],
)
def test_region_is_in_the_name_of_a_broker(host: str, region: str | None) -> None:
    assert region_of(host) == region


@pytest.mark.parametrize("source", ["option", "AWS_REGION", "AWS_DEFAULT_REGION"])
async def test_other_names_need_a_region(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    tunnel = Endpoint("localhost", 9098)
    with pytest.raises(SaslError, match="the region of localhost:9098 is unknown: set AWS_REGION"):
        await MskIamCredentials().start(tunnel)
    if source != "option":
        monkeypatch.setenv(source, "ap-south-1")

    credentials = MskIamCredentials(region="ap-south-1" if source == "option" else None)
    host, parameters = await token_of(credentials, tunnel)

    check(host, parameters, "ap-south-1")


async def test_profile_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "credentials").write_text("[ops]\naws_access_key_id = OPS\naws_secret_access_key = secret\n")

    _, parameters = await token_of(MskIamCredentials(profile="ops"))

    assert parameters["X-Amz-Credential"].startswith("OPS/")
    with pytest.raises(SaslError, match="no credentials of AWS"):
        await MskIamCredentials().start(BROKER)
    with pytest.raises(SaslError, match="AWS: The config profile"):
        await MskIamCredentials(profile="none").start(BROKER)


async def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)

    with pytest.raises(SaslError, match=r"pip install 'kwire\[msk\]'"):
        await MskIamCredentials().start(BROKER)


@for_rows(
    ("properties", "credentials"),
    [
        (
            {
                "sasl.mechanism": "AWS_MSK_IAM",
                "sasl.jaas.config": f'{IAM}.IAMLoginModule required awsProfileName="ops";',
                "sasl.client.callback.handler.class": f"{IAM}.IAMClientCallbackHandler",
            },
            MskIamCredentials(mechanism="AWS_MSK_IAM", profile="ops"),
        ),
        (
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
                "sasl.login.callback.handler.class": f"{IAM}.IAMOAuthBearerLoginCallbackHandler",
                "sasl.client.callback.handler.class": f"{IAM}.IAMOAuthBearerLoginCallbackHandler",
            },
            MskIamCredentials(),
        ),
        ({"sasl.mechanism": "AWS_MSK_IAM"}, MskIamCredentials(mechanism="AWS_MSK_IAM")),
    ],
)
def test_files_of_amazons_guide(properties: dict[str, str], credentials: MskIamCredentials) -> None:
    loaded = ClientProperties.parse({"security.protocol": "SASL_SSL"} | properties)

    assert loaded.connection.sasl == credentials
    assert loaded.warnings == ()


def test_role_in_the_login_module_is_refused() -> None:
    jaas = f'{IAM}.IAMLoginModule required awsRoleArn="arn:aws:iam::123456789012:role/ops";'
    with pytest.raises(SecurityConfigError, match="awsRoleArn is not supported: name the role in a profile"):
        ClientProperties.parse(
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": jaas}
        )


@pytest.mark.parametrize("mechanism", ["AWS_MSK_IAM", "OAUTHBEARER"])
async def test_a_broker_accepts_the_message(mechanism: Literal["AWS_MSK_IAM", "OAUTHBEARER"]) -> None:
    answers = {"AWS_MSK_IAM": b'{"version":"2020_10_22"}', "OAUTHBEARER": b""}
    with FakeCluster(1, topics=["orders"]) as cluster:
        listener = SecuredListener(mechanisms=(mechanism,), respond=lambda _: (0, answers[mechanism]))
        async with secured_listener(cluster, listener):
            config = ConnectionConfig(sasl=MskIamCredentials(mechanism=mechanism, region="eu-central-1"))
            async with await AdminClient.open(listener.address, timeout=10, config=config) as admin:
                assert admin.dialect == "kafka"

        refusing = SecuredListener(mechanisms=(mechanism,), respond=lambda _: (58, b""))
        async with secured_listener(cluster, refusing):
            with pytest.raises(AuthenticationFailed) as caught:
                await AdminClient.open(refusing.address, timeout=10, config=config)
    assert SECRET not in repr(caught.value) + str(caught.value) + repr(config)
    start = {"AWS_MSK_IAM": b'{"version": "2020_10_22"', "OAUTHBEARER": b"n,,\x01auth=Bearer "}[mechanism]
    assert [token[: len(start)] for token in listener.tokens] == [start]
