"""`kwire sniff` hides secrets, unless it is asked to show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kwire import frame
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from kwire.messages.kafka.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kwire.messages.kafka.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.cli.scripted_broker import connect, receive_frame, scripted_broker, sized
from tests.cli.sniffing import request, sniffing
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from kwire.declare import Message


SECRET = b"hunter2-hunter2"

SECRETS: dict[str, tuple[Message, Message, int]] = {
    "SaslAuthenticate": (
        SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + SECRET),
        SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=SECRET),
        2,
    ),
    "AlterUserScramCredentials": (
        AlterUserScramCredentialsRequest(
            deletions=(),
            upsertions=(
                ScramCredentialUpsertion(
                    name="alice", mechanism=1, iterations=4096, salt=SECRET, salted_password=SECRET
                ),
            ),
        ),
        AlterUserScramCredentialsResponse(throttle_time_ms=0, results=()),
        0,
    ),
    "RenewDelegationToken": (
        RenewDelegationTokenRequest(hmac=SECRET, renew_period_ms=1),
        RenewDelegationTokenResponse(error_code=0, expiry_timestamp_ms=0, throttle_time_ms=0),
        2,
    ),
    "IncrementalAlterConfigs": (
        IncrementalAlterConfigsRequest(
            resources=(
                AlterConfigsResource(
                    resource_type=4,
                    resource_name="1",
                    configs=(
                        AlterableConfig(name="ssl.key.password", config_operation=0, value=SECRET.decode()),
                        AlterableConfig(name="log.retention.ms", config_operation=0, value="604800000"),
                    ),
                ),
            ),
            validate_only=False,
        ),
        IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=()),
        1,
    ),
}


def spellings(secret: bytes) -> list[str]:
    """Return how outputs could show a secret: as text, hex in several forms, or a part of its base64."""
    import base64

    return [secret.decode(), secret.hex(), secret[:6].hex(" "), base64.b64encode(secret)[2:12].decode()]


def sniffed(name: str, *options: str, cut: int = 0) -> str:
    """Return the output for one exchange; `cut` bytes are missing from the end of the request's body."""
    asked, answered, version = SECRETS[name]
    payload = request(asked, version, 7)[4:]
    reply = frame.encode_response(answered, version=version, correlation_id=7)
    with scripted_broker(lambda _payload: reply) as broker, sniffing("--to", broker, *options) as it:
        with connect(it.address) as client:
            client.sendall(sized(payload[: len(payload) - cut]))
            assert receive_frame(client) == reply[4:]
        return it.stop()


@for_rows("output", ["json", "table", "hexdump"])
@for_rows("cut", [0, 3], ids=["valid", "malformed"])
@for_rows("name", SECRETS)
def test_secrets_are_hidden(name: str, cut: int, output: str) -> None:
    out = sniffed(name, "-o", output, "-a", cut=cut)

    assert name in out
    for spelling in spellings(SECRET):
        assert spelling not in out
    if output != "table" and not cut:
        assert "[hidden]" in out
    if name == "IncrementalAlterConfigs" and output != "table" and not cut:
        assert "604800000" in out, "an ordinary config is shown"


@for_rows("output", ["json", "hexdump"])
def test_secrets_are_shown_on_request(output: str) -> None:
    out = sniffed("IncrementalAlterConfigs", "-o", output, "--show-secrets")

    assert SECRET.decode() in out
    assert "[hidden]" not in out


def test_bytes_that_cannot_be_decoded_are_shown_on_request() -> None:
    [document] = [json.loads(line) for line in sniffed("SaslAuthenticate", "--show-secrets", cut=3).splitlines()]

    assert document["request"]["error"]["kind"] == "truncated"
    assert SECRET[:-3] in bytes.fromhex(document["request"]["hex"])


@for_rows("output", ["json", "table", "hexdump"])
def test_tokens_without_a_header_are_hidden(output: str) -> None:
    accepted = SaslHandshakeResponse(error_code=0, mechanisms=("PLAIN",))
    replies = iter([frame.encode_response(accepted, version=0, correlation_id=7), sized(SECRET)])
    with scripted_broker(lambda _payload: next(replies)) as broker, sniffing("--to", broker, "-o", output) as it:
        with connect(it.address) as client:
            client.sendall(request(SaslHandshakeRequest(mechanism="PLAIN"), 0, 7))
            receive_frame(client)
            client.sendall(sized(b"\0alice\0" + SECRET))
            assert receive_frame(client) == SECRET
        out = it.stop()

    assert ("sasl_token" if output == "json" else "SASL token") in out
    for spelling in spellings(SECRET):
        assert spelling not in out
