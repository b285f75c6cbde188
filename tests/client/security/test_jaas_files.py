"""JAAS files that Java's options name, as in Amazon's guide to MSK."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.client.security import KerberosCredentials, PlainCredentials, ScramCredentials, Secret
from tests.client.security.test_client_properties import PASSWORD, PLAIN, parse, problem_of, sasl
from tests.for_rows import for_rows

JAAS_FILE = f"""
// The context of brokers is another one.
KafkaServer {{ org.apache.kafka.common.security.plain.PlainLoginModule required username="b" password="no"; }};
KafkaClient {{
   com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="alice@EXAMPLE.COM";
   org.apache.kafka.common.security.scram.ScramLoginModule required
   username="alice"
   password="{PASSWORD}";
}};
"""


@for_rows(
    "options",
    [
        "-Djava.security.auth.login.config={}",
        "-Xmx1g -Djava.security.auth.login.config=={} -Dx=y",
        "-Djava.security.auth.login.config=/other '-Djava.security.auth.login.config={}'",
        "-Djava.security.auth.login.config=file:{}",
    ],
)
def test_jaas_file_of_kafka_opts_is_read(tmp_path: Path, options: str) -> None:
    file = tmp_path / "a jaas.conf" if "'" in options else tmp_path / "jaas.conf"
    file.write_text(JAAS_FILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_OPTS", options.format(file))
        scram = parse(sasl("SCRAM-SHA-512")).connection.sasl
        kerberos = parse(sasl("GSSAPI", **{"sasl.kerberos.service.name": "kafka"})).connection.sasl
        own = parse(sasl("PLAIN", PLAIN)).connection.sasl

    assert scram == ScramCredentials("alice", Secret(PASSWORD))
    assert kerberos == KerberosCredentials(principal="alice@EXAMPLE.COM", keytab="/k")
    assert own == PlainCredentials("alice", Secret(PASSWORD)), "sasl.jaas.config wins"


@for_rows(
    ("text", "problem"),
    [
        (None, "which KAFKA_OPTS names: No such file or directory"),
        (JAAS_FILE, "has no PlainLoginModule in KafkaClient: it has Krb5LoginModule, ScramLoginModule"),
        ("Other { a.PlainLoginModule required; };", "has no PlainLoginModule in KafkaClient: it has none"),
        (JAAS_FILE.replace("};", "}"), "does not end with `};`"),
        ("KafkaClient", "expected `Context {` at character 0"),
        ("KafkaClient { a.PlainLoginModule", 'expected `LoginModule required name="value";`'),
        (
            'KafkaClient { a.PlainLoginModule required username="${user.name}" password="open-sesame"; };',
            "the option username refers to a property of Java",
        ),
    ],
)
def test_problem_of_a_jaas_file_is_named(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "jaas.conf"
    file.unlink(missing_ok=True)
    if text is not None:
        file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={file}")
        assert problem in problem_of(sasl("PLAIN"))
