"""Secrets in messages: no text shows them, and no value is lost."""

from __future__ import annotations

import dataclasses
import pickle
import pprint
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire import frame
from kwire.declare import Message, array, field, nullable, string
from kwire.declare.introspect import fields
from kwire.declare.secrets import is_secret_config
from kwire.errors import DeclarationError
from kwire.messages import every
from kwire.messages.kafka.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kwire.messages.kafka.create_delegation_token import CreateDelegationTokenResponse
from kwire.messages.kafka.describe_configs import DescribeConfigsResponse
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from tests.for_rows import for_rows
from tests.proof.material import exchanges

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = b"\0alice\0hunter2"


def texts_of(message: Any) -> Iterator[str]:
    """Yield every text that a log, a debugger, or a test report makes of a message."""
    yield repr(message)
    yield str(message)
    yield f"{message}"
    yield kwire.full_repr(message)
    yield pprint.pformat(message)
    yield repr(list(message.__rich_repr__()))
    yield repr(kwire.to_json(message, version=message.versions.highest, hide_secrets=True))


def config(key: str, value: str | None) -> AlterConfigsRequest:
    entry = AlterableConfig(name=key, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=(entry,))
    return AlterConfigsRequest(resources=(resource,), validate_only=False)


MESSAGES: dict[str, Message] = {
    "token of a client": SaslAuthenticateRequest(auth_bytes=SECRET),
    "token of a broker": SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=SECRET),
    "SCRAM credential": AlterUserScramCredentialsRequest(
        deletions=(),
        upsertions=(
            ScramCredentialUpsertion(
                name="alice", mechanism=1, iterations=4096, salt=b"hunter2's salt", salted_password=SECRET
            ),
        ),
    ),
    "password": config("listener.name.internal.ssl.keystore.password", "hunter2"),
    "JAAS config": config("sasl.jaas.config", 'PlainLoginModule required username="alice" password="hunter2";'),
}


@for_rows("message", MESSAGES.values(), ids=MESSAGES)
def test_no_text_of_a_message_shows_a_secret(message: Message) -> None:
    for text in texts_of(message):
        assert "hunter2" not in text
        assert SECRET.hex() not in text
    assert "[hidden]" in repr(message)


@for_rows("message", MESSAGES.values(), ids=MESSAGES)
def test_programs_get_secrets_unchanged(message: Message) -> None:
    version = message.versions.highest

    assert kwire.decode(type(message), kwire.encode(message, version=version), version=version) == message
    assert kwire.from_json(type(message), kwire.to_json(message, version=version), version=version) == message
    assert pickle.loads(pickle.dumps(message)) == message
    assert dataclasses.replace(message) == message
    assert "hunter2" in repr(dataclasses.asdict(message))


def test_the_token_of_create_delegation_token_is_hidden() -> None:
    hmac = fields(CreateDelegationTokenResponse)

    assert [f.name for f in hmac if f.sensitive] == ["hmac"]


def test_empty_and_null_values_are_shown() -> None:
    assert repr(SaslAuthenticateRequest(auth_bytes=b"")) == "SaslAuthenticateRequest(auth_bytes=b'')"
    assert "value=None" in repr(config("ssl.key.password", None))


def test_a_config_is_hidden_only_if_its_key_names_a_secret() -> None:
    assert "value='604800000'" in repr(config("retention.ms", "604800000"))
    assert kwire.to_json(config("retention.ms", "1"), version=2, hide_secrets=True) == kwire.to_json(
        config("retention.ms", "1"), version=2
    )


@for_rows(
    "key",
    [
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "sasl.jaas.config",
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config",
        "delegation.token.secret.key",
        "sasl.oauthbearer.client.credentials.client.secret",
        "SSL_KEY_PASSWORD",
        "my.plugin.api-key",
    ],
)
def test_keys_of_secrets_are_known_by_their_ends(key: str) -> None:
    assert is_secret_config(key)


def test_every_config_that_a_broker_declared_sensitive_is_a_secret_and_no_other() -> None:
    """The recorded responses of Kafka 3.9.1 and 4.4.0 list every config of topics and brokers."""
    declared: dict[str, bool] = {}
    for exchange in exchanges():
        if exchange.api_key != DescribeConfigsResponse.api_key:
            continue
        response = frame.decode_response(exchange.response, DescribeConfigsResponse, version=exchange.version)
        for result in response.message.results:
            declared |= {config.name: config.is_sensitive for config in result.configs if config.config_type != 0}

    assert len(declared) > 200
    assert {name for name in declared if is_secret_config(name)} == {name for name in declared if declared[name]}


def test_a_hidden_value_leaves_the_document_in_the_form_of_the_message() -> None:
    document = kwire.to_json(MESSAGES["SCRAM credential"], version=0, hide_secrets=True)

    [upsertion] = document["upsertions"]
    assert upsertion == {
        "name": "alice",
        "mechanism": 1,
        "iterations": 4096,
        "salt": "[hidden]",
        "saltedPassword": "[hidden]",
    }


@given(st.binary(min_size=1))
def test_hidden_documents_do_not_depend_on_the_secret(secret: bytes) -> None:
    message = SaslAuthenticateRequest(auth_bytes=secret)

    assert kwire.to_json(message, version=2, hide_secrets=True) == {"authBytes": "[hidden]"}
    assert repr(message) == "SaslAuthenticateRequest(auth_bytes='[hidden]')"


def test_own_messages_can_hide_fields() -> None:
    class LoginRequest(Message, api_key=9001, versions="0"):
        user: string
        pin: string = field(default="0000", sensitive=True)
        hints: nullable[array[string]] = field(default=None, sensitive=True)

    assert repr(LoginRequest(user="a", pin="1234", hints=("dog",))) == (
        "test_own_messages_can_hide_fields.<locals>.LoginRequest(user='a', pin='[hidden]', hints='[hidden]')"
    )


def test_the_key_of_a_sensitive_value_must_be_a_field() -> None:
    with pytest.raises(DeclarationError, match=r"Entry\.value: sensitive= names an unknown field"):

        class Entry(Message, versions="0"):
            key: string
            value: string = field(sensitive="name")


def test_documentation_marks_sensitive_fields() -> None:
    assert "auth_bytes: bytes, all versions, sensitive" in (SaslAuthenticateRequest.__doc__ or "")
    assert "sensitive for some values of name" in (AlterableConfig.__doc__ or "")


def test_fields_that_are_named_like_secrets_are_sensitive() -> None:
    """A new message of Kafka with a secret fails here until its declaration marks it."""
    suspicious = ("password", "secret", "hmac", "auth_bytes", "salt", "private_key")
    unmarked = [
        f"{struct.__name__}.{f.name}"
        for cls in every()
        for struct in structs_of(cls)
        for f in fields(struct)
        if any(word in f.name for word in suspicious) and f.sensitive is not True
    ]

    assert unmarked == []


def structs_of(cls: Any) -> Iterator[Any]:
    """Yield a message and the structs in it."""
    yield cls
    for f in fields(cls):
        inner: Any = f.type
        while hasattr(inner, "element") or hasattr(inner, "inner"):
            inner = inner.element if hasattr(inner, "element") else inner.inner
        if hasattr(inner, "struct"):
            yield from structs_of(inner.struct)
