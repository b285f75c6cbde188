"""Named clusters of the configuration file and what they guard against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.cli.running import Run, kwire

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"]) as cluster:
        yield cluster


class Configured:
    """A configuration file, and runs of the command that read it."""

    def __init__(self, path: Path, bootstrap: str) -> None:
        self.path = path
        self.bootstrap = bootstrap

    def write(self, text: str) -> None:
        self.path.write_text(text.replace("BOOTSTRAP", self.bootstrap), encoding="utf-8")

    def run(self, *arguments: str, **variables: str) -> Run:
        return kwire(*arguments, KWIRE_CONFIG=str(self.path), **variables)


@pytest.fixture
def configured(tmp_path: Path, cluster: FakeCluster) -> Configured:
    return Configured(tmp_path / "config.toml", cluster.bootstrap)


def test_named_and_default_cluster(configured: Configured) -> None:
    configured.write('default_cluster = "dev"\n[clusters.dev]\nbootstrap = "BOOTSTRAP"\n')
    for arguments in (["topics", "list"], ["-c", "dev", "topics", "list"], ["topics", "list", "--cluster", "dev"]):
        run = configured.run("-o", "json", *arguments)
        assert run.code == 0, run.err
        assert json.loads(run.out)[0]["name"] == "orders"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cluster", "dev", "topics", "list"],
        ["topics", "list", "--cluster", "dev"],
        ["-b", "BOOTSTRAP", "topics", "list"],
        ["topics", "list", "-b", "BOOTSTRAP"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    "variables",
    [{"KWIRE_BOOTSTRAP": "127.0.0.1:1"}, {"KWIRE_CLUSTER": "prod"}],
    ids=["KWIRE_BOOTSTRAP", "KWIRE_CLUSTER"],
)
def test_options_come_before_the_environment(
    arguments: list[str], variables: dict[str, str], configured: Configured
) -> None:
    """Otherwise, a command would change another cluster than its line names."""
    configured.write('[clusters.dev]\nbootstrap = "BOOTSTRAP"\n[clusters.prod]\nbootstrap = "127.0.0.1:1"\n')
    words = [configured.bootstrap if word == "BOOTSTRAP" else word for word in arguments]
    run = configured.run(*words, **variables)
    assert run.code == 0, run.err


def test_variables_do_not_complete_a_cluster_of_the_file(configured: Configured, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=OTHER\n", encoding="utf-8")
    configured.write('[clusters.dev]\nbootstrap = "BOOTSTRAP"\n')
    variables = {"KWIRE_COMMAND_CONFIG": str(properties)}
    assert configured.run("-c", "dev", "topics", "list", **variables).code == 0
    invalid = configured.run("-b", configured.bootstrap, "topics", "list", **variables)
    assert "security.protocol: expected one of PLAINTEXT" in invalid.err


def test_empty_option_is_not_replaced_by_the_environment(configured: Configured) -> None:
    run = configured.run("-b", "", "topics", "list", KWIRE_BOOTSTRAP=configured.bootstrap)
    assert run.code == 2
    assert "name the cluster: " in run.err


def test_bootstrap_servers_of_client_properties(configured: Configured, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers={configured.bootstrap}\n", encoding="utf-8")
    configured.write('[clusters.dev]\nproperties = "client.properties"\n')
    assert configured.run("-c", "dev", "topics", "list").code == 0
    assert configured.run("--command-config", str(properties), "topics", "list").code == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_of_the_file_is_accepted(encoding: str, configured: Configured) -> None:
    text = f'default_cluster = "dev"\r\n[clusters.dev]\r\nbootstrap = "{configured.bootstrap}"\r\n'
    configured.path.write_bytes(text.encode(encoding))
    run = configured.run("topics", "list")
    assert run.code == 0, run.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[clusters.prod]\nbootstrap = 'h:1'", "has no cluster 'prd': did you mean prod?"),
        ("[clusters.prd]\nbootstrp = 'h:1'", "unknown key clusters.prd.bootstrp: did you mean bootstrap?"),
        ("[clusters.prd]\nread_only = 'yes'", "clusters.prd.read_only has the wrong type str"),
        ("[clusters.prd]\nconfirm = 'always'", "clusters.prd.confirm can only be 'type-name'"),
        ("[clusters.prd", "config.toml: Expected"),
        ("[clusters.prd]\n", "name the cluster: give --bootstrap HOST:PORT"),
    ],
    ids=["unknown cluster", "unknown key", "wrong type", "unknown confirmation", "invalid TOML", "no servers"],
)
def test_mistake_in_the_file_is_named(text: str, message: str, configured: Configured) -> None:
    configured.write(text)
    run = configured.run("--cluster", "prd", "topics", "list")
    assert run.code == 2
    assert message in run.err


def test_read_only_cluster_refuses_changes_and_allows_dry_runs(configured: Configured) -> None:
    configured.write('[clusters.prod]\nbootstrap = "BOOTSTRAP"\nread_only = true\n')
    refused = configured.run("-c", "prod", "topics", "delete", "orders", "--yes")
    assert refused.code == 2
    assert f"cluster prod is read-only in {configured.path}" in refused.err
    assert configured.run("-c", "prod", "topics", "delete", "orders", "--dry-run").code == 0
    assert configured.run("-c", "prod", "topics", "list").code == 0


def test_changes_of_another_cluster_than_expected_are_refused(configured: Configured) -> None:
    configured.write('[clusters.prod]\nbootstrap = "BOOTSTRAP"\ncluster_id = "another"\n')
    refused = configured.run("-c", "prod", "topics", "delete", "orders", "--yes")
    assert refused.code == 2
    assert "belongs to the cluster fake-cluster-000000000, but" in refused.err
    assert "expects another for prod" in refused.err


def test_name_must_be_typed_even_with_yes(configured: Configured) -> None:
    configured.write('[clusters.prod]\nbootstrap = "BOOTSTRAP"\nconfirm = "type-name"\n')
    refused = configured.run("-c", "prod", "topics", "delete", "orders", "--yes")
    assert refused.code == 2
    assert "requires the name prod to be typed" in refused.err


SASL = """[clusters.prod]
bootstrap = "BOOTSTRAP"
password_command = "COMMAND"
[clusters.prod.properties]
"security.protocol" = "SASL_PLAINTEXT"
"sasl.mechanism" = "SCRAM-SHA-256"
"sasl.jaas.config" = "org.apache.kafka.common.security.scram.ScramLoginModule required username='alice';"
"""


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("nosuch-program", "cannot run password_command 'nosuch-program'"),
        ("sh -c 'exit 3'", "password_command \"sh -c 'exit 3'\" failed with exit code 3"),
        ("true", "password_command 'true' printed no password"),
        ("echo 'open", 'cannot run password_command "echo \'open": No closing quotation'),
    ],
    ids=["missing program", "failure", "no output", "open quote"],
)
def test_password_command_that_fails_is_explained(command: str, sentence: str, configured: Configured) -> None:
    configured.write(SASL.replace("COMMAND", command))
    run = configured.run("-c", "prod", "topics", "list")
    assert run.code == 2
    assert sentence in run.err


def test_password_of_the_command_is_not_shown(configured: Configured) -> None:
    configured.write(SASL.replace("COMMAND", "echo hidden-text"))
    run = configured.run("-c", "prod", "--timeout", "1", "--debug", "topics", "list")
    assert run.code in {3, 4}
    assert "hidden-text" not in run.out + run.err
