"""Sources of the security of a command: each source acts, alone and beside every other one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import click
import pytest

from kwire.client.security import ConnectionConfig
from kwire.terminal.cluster import choose_cluster, with_environment

if TYPE_CHECKING:
    from pathlib import Path

PLACES = ("option", "variable", "file of a cluster", "table of a cluster", "override")
"""In the order in which they win, but an override wins over all of them."""
PAIRS = [
    *((place, None) for place in PLACES),
    *(pair for pair in itertools.combinations(PLACES, 2) if pair != ("file of a cluster", "table of a cluster")),
]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("KWIRE_CONFIG", str(path))
    for name in ("KWIRE_BOOTSTRAP", "KWIRE_CLUSTER", "KWIRE_COMMAND_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return path


def chosen(config: Path, monkeypatch: pytest.MonkeyPatch, protocols: dict[str, str]) -> str:
    """Return the protocol that a command uses if each place has one."""
    files = {}
    for place, protocol in protocols.items():
        files[place] = config.with_name(f"{place}.properties")
        files[place].write_text(f"security.protocol={protocol}\n")
    lines = ['default_cluster = "dev"', "[clusters.dev]", 'bootstrap = "h:1"']
    if "file of a cluster" in protocols:
        lines.append('properties = "file of a cluster.properties"')
    if "table of a cluster" in protocols:
        lines.append(f'properties = {{ "security.protocol" = "{protocols["table of a cluster"]}" }}')
    config.write_text("\n".join(lines) + "\n")
    if "variable" in protocols:
        monkeypatch.setenv("KWIRE_COMMAND_CONFIG", str(files["variable"]))
    options = with_environment({"bootstrap": None, "cluster": None, "command_config": files.get("option")})
    overrides = (f"security.protocol={protocols['override']}",) if "override" in protocols else ()
    choice = choose_cluster(**options, overrides=overrides, timeout=None)
    return (choice.config or ConnectionConfig()).security_protocol


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_each_place_acts(config: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str | None) -> None:
    if second is None:
        assert chosen(config, monkeypatch, {first: "SSL"}) == "SSL"
        return
    winner = "override" if second == "override" else first
    for ssl in (first, second):
        protocols = {place: "SSL" if place == ssl else "PLAINTEXT" for place in (first, second)}
        assert chosen(config, monkeypatch, protocols) == protocols[winner]


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
