"""Sources of the security of a command: each source acts, alone and beside every other one."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest

from kwire._util.properties import format_properties
from kwire.client.security import ConnectionConfig
from kwire.terminal.cluster import choose_cluster, with_environment

if TYPE_CHECKING:
    from pathlib import Path

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
CREDENTIALS = {
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";',
}
CASES = 250
"""Number of random combinations of 37,500."""


class Sources(NamedTuple):
    """The protocol of a connection by source; None for a source that is missing.

    Attributes:
        option: the file of `--command-config`.
        variable: the file of KWIRE_COMMAND_CONFIG.
        cluster: the properties of a cluster of the configuration file.
        override: `-X security.protocol=...`.
        address: the protocol in front of the address.
        form: the form of the cluster's properties.
        choosing: the way in which the cluster is named.
    """

    option: str | None
    variable: str | None
    cluster: str | None
    override: str | None
    address: str | None
    form: str
    choosing: str

    def files(self) -> list[str]:
        """Return the protocols of the files and tables that concern the connection, the winner first."""
        has_cluster = self.choosing != "--bootstrap"
        variable = None if self.choosing == "--cluster" else self.variable
        found = [self.option or variable, self.cluster if has_cluster else None]
        return [protocol for protocol in found if protocol is not None]

    def expected(self) -> str | None:
        """Return the protocol of the connection; None if the sources contradict each other."""
        files = self.files()
        protocol = self.override or (files[0] if files else "PLAINTEXT")
        if self.override is None and any(lacks(protocol, other) for other in files):
            return None
        return protocol if self.address in (None, protocol) else None


def lacks(protocol: str, other: str) -> bool:
    """Return whether a protocol has no TLS or no authentication, and another one has it."""
    return not set(other.split("_")) - {"PLAINTEXT"} <= set(protocol.split("_"))


def combinations() -> list[Sources]:
    maybe = (None, *PROTOCOLS)
    forms = ("file", "quoted keys", "dotted keys")
    choosing = ("default_cluster", "KWIRE_CLUSTER", "--cluster", "--bootstrap")
    every = [Sources(*values) for values in itertools.product(maybe, maybe, maybe, maybe, maybe, forms, choosing)]
    return random.Random(1).sample(every, CASES)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("KWIRE_CONFIG", str(path))
    for name in ("KWIRE_BOOTSTRAP", "KWIRE_CLUSTER", "KWIRE_COMMAND_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return path


def choose(config: Path, monkeypatch: pytest.MonkeyPatch, sources: Sources) -> str:
    """Return the protocol that a command uses."""
    files = {}
    for name, protocol in (("option", sources.option), ("variable", sources.variable), ("cluster", sources.cluster)):
        files[name] = config.with_name(f"{name}.properties")
        files[name].write_text(format_properties({"security.protocol": protocol or "", **CREDENTIALS}))
        files[name].chmod(0o600)
    address = "h:1" if sources.address is None else f"{sources.address}://h:1"
    lines = ['default_cluster = "dev"', "[clusters.dev]", f'bootstrap = "{address}"']
    values = {"security.protocol": sources.cluster, **CREDENTIALS}
    match sources.form if sources.cluster is not None else None:
        case "file":
            lines.append('properties = "cluster.properties"')
        case "quoted keys":
            lines += ["[clusters.dev.properties]", *(f"\"{key}\" = '{value}'" for key, value in values.items())]
        case "dotted keys":
            lines += ["[clusters.dev.properties]", *(f"{key} = '{value}'" for key, value in values.items())]
    config.write_text("\n".join(lines) + "\n")
    monkeypatch.delenv("KWIRE_COMMAND_CONFIG", raising=False)
    if sources.variable is not None:
        monkeypatch.setenv("KWIRE_COMMAND_CONFIG", str(files["variable"]))
    monkeypatch.delenv("KWIRE_CLUSTER", raising=False)
    if sources.choosing == "KWIRE_CLUSTER":
        monkeypatch.setenv("KWIRE_CLUSTER", "dev")
    options = with_environment(
        {
            "bootstrap": address if sources.choosing == "--bootstrap" else None,
            "cluster": "dev" if sources.choosing == "--cluster" else None,
            "command_config": files["option"] if sources.option is not None else None,
        }
    )
    overrides = [f"security.protocol={sources.override}"] if sources.override is not None else []
    choice = choose_cluster(**options, overrides=overrides, timeout=None)
    return (choice.config or ConnectionConfig()).security_protocol


def test_sources_that_disagree_never_drop_tls_or_authentication(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for sources in combinations():
        try:
            protocol: str | None = choose(config, monkeypatch, sources)
        except click.UsageError:
            protocol = None
        said = capsys.readouterr().err
        expected = sources.expected()
        if expected is not None and expected.startswith("SASL_") and not sources.files():
            expected = None  # `-X` alone has no credentials
        if protocol != expected:
            wrong.append((sources, protocol, expected))
        elif protocol is not None:
            seen = [*sources.files(), *filter(None, [sources.option, sources.variable])]
            dropped = any(lacks(protocol, other) for other in seen)
            is_clear = protocol == "SASL_PLAINTEXT"
            if (dropped and "Warning: " not in said) or (is_clear and "clear text without TLS" not in said):
                wrong.append((sources, protocol, said))
    assert not wrong, "\n".join(map(str, wrong))


def test_variable_without_effect_is_named(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text('[clusters.dev]\nbootstrap = "h:1"\n')
    monkeypatch.setenv("KWIRE_COMMAND_CONFIG", "client.properties")

    choice = choose_cluster(
        **with_environment({"bootstrap": None, "cluster": "dev", "command_config": None}), timeout=None
    )

    assert choice.config is None
    assert "KWIRE_COMMAND_CONFIG has no effect beside --cluster: set clusters.dev.properties" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["option", "table", "override"])
@pytest.mark.parametrize("key", ["Security.Protocol", "security_protocol", "sasl.username", "topic"])
def test_key_that_would_be_lost_is_refused_everywhere(config: Path, place: str, key: str) -> None:
    file = config.with_name("client.properties")
    file.write_text(f"{key}=SSL\n")
    config.write_text(f'[clusters.dev]\nbootstrap = "h:1"\nproperties = {{ "{key}" = "SSL" }}\n')

    with pytest.raises(click.UsageError):
        choose_cluster(
            bootstrap=None if place == "table" else "h:1",
            cluster="dev" if place == "table" else None,
            command_config=file if place == "option" else None,
            overrides=(f"{key}=SSL",) if place == "override" else (),
            timeout=None,
        )
