"""The cluster of a command: options, a client.properties, and named clusters of a configuration file.

The options may be given before the noun or after the verb. The configuration file is `~/.config/kwire/config.toml`, or
the file that KWIRE_CONFIG names:

    default_cluster = "dev"

    [clusters.dev]
    bootstrap = "localhost:9092"

    [clusters.prod]
    bootstrap = "broker-1:9093,broker-2:9093"
    properties = "prod.properties"       # TLS and SASL; relative to this file. Or a table with Kafka's own keys.
    password_command = "pass kafka/prod"  # prints the password, if sasl.jaas.config has none
    cluster_id = "Ohr0NLLfT1u8XmIlXOXZ4w" # checked before anything is changed
    read_only = true                      # refuse to change anything
    confirm = "type-name"                 # type the name of the cluster before something is destroyed

Properties come from one place: `--command-config`, else KWIRE_COMMAND_CONFIG, else the cluster. A place that replaces
another one can add TLS and authentication, and cannot drop them: two places that disagree would otherwise decide by
their order whether a password is sent in clear text. Only `-X security.protocol=...` drops them, with a warning.
"""

from __future__ import annotations

import os
import sys

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire._util.secret import Secret
from kwire._util.similar_names import similar
from kwire.terminal.environment import VARIABLES, config_file, variables_for
from kwire.terminal.usage_errors import address_error, usage_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kwire.client.security import ClientProperties, ConnectionConfig

__all__ = [
    "ClusterChoice",
    "choose_cluster",
    "cluster_names",
    "config_path",
    "with_environment",
]


def with_environment(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the values of these options, completed by variables of the environment."""
    values: dict[str, Any] = dict(variables_for(chosen))
    if "command_config" in values:
        from pathlib import Path  # a cluster without files does without

        values["command_config"] = Path(values["command_config"])
    return {**chosen, **values}


DEFAULT_TIMEOUT = 30.0
KEYS: dict[str, type | tuple[type, ...]] = {
    "bootstrap": str,
    "properties": (str, dict),
    "password_command": str,
    "cluster_id": str,
    "read_only": bool,
    "confirm": str,
}
"""The keys of a cluster in the configuration file, and their types."""


CLIENT_ID = "kwire-admin"
"""The client id of a cluster whose properties name none."""


class ClusterChoice(NamedTuple):
    """A cluster, how to connect to it, and what is allowed there.

    Attributes:
        name: its name in the configuration file; None without one.
        bootstrap: some of its brokers.
        config: TLS and SASL; None for plaintext.
        client_id: the client id of all requests.
        timeout: seconds for each request.
        cluster_id: the id that it must have before anything is changed; None for any.
        read_only: true if changes are refused.
        type_name: true if a person types the name before something is destroyed.
    """

    name: str | None
    bootstrap: str
    config: ConnectionConfig | None = None
    client_id: str = CLIENT_ID
    timeout: float = DEFAULT_TIMEOUT
    cluster_id: str | None = None
    read_only: bool = False
    type_name: bool = False


def config_path() -> Path:
    """Return the path of the configuration file, which need not exist."""
    from pathlib import Path

    return Path(config_file())


def cluster_names() -> list[str]:
    """Return the names of the clusters in the configuration file.

    Raises:
        click.UsageError: the file is invalid.
    """
    return list(_read_config().get("clusters", {}))


def choose_cluster(
    *,
    bootstrap: str | None,
    cluster: str | None,
    command_config: Path | None,
    overrides: Sequence[str] = (),
    timeout: float | None,
    run_password_command: bool = True,
    is_required: bool = True,
) -> ClusterChoice:
    """Return the cluster that options, or else the configuration file, choose.

    The options are those of `with_environment`.

    Args:
        overrides: texts such as `security.protocol=SSL`, in place of properties of files.
        run_password_command: true if a `password_command` is run; it may ask for something.
        is_required: true if a missing cluster is an error; otherwise, its `bootstrap` is empty.

    Raises:
        click.UsageError: the cluster or its password is missing, or a file or an override is invalid.
    """
    document = _read_config() if bootstrap is None or cluster is not None else {}
    name = cluster or (None if bootstrap else document.get("default_cluster"))
    named = _named(document, name) if name is not None else {}
    command = named.get("password_command") if run_password_command else None
    properties = _properties(command_config, named.get("properties"), _overrides(overrides), command)
    protocol = properties.connection.security_protocol if properties is not None else "PLAINTEXT"
    if cluster is not None and command_config is None:
        _warn_of_variable(cluster, protocol, has_properties="properties" in named)
    servers = bootstrap or named.get("bootstrap") or (properties and properties.bootstrap_servers)
    if servers:
        source = f"clusters.{name}.bootstrap in {config_path()}" if named.get("bootstrap") else "bootstrap.servers"
        _check_addresses(servers, protocol, "--bootstrap" if bootstrap else source)
    elif is_required:
        raise usage_error(
            "name the cluster: give --bootstrap HOST:PORT, set KWIRE_BOOTSTRAP, or give --cluster with a name in "
            f"{config_path()}"
        )
    return ClusterChoice(
        name,
        servers or "",
        properties.connection if properties is not None else None,
        (properties and properties.client_id) or CLIENT_ID,
        timeout or (properties and properties.request_timeout) or DEFAULT_TIMEOUT,
        named.get("cluster_id"),
        named.get("read_only", False),
        named.get("confirm") == "type-name",
    )


def _check_addresses(bootstrap: str, protocol: str, source: str) -> None:
    """Check that the addresses of brokers are valid, and that a protocol in front is the one of the connection.

    Raises:
        click.UsageError: they are not.
    """
    from kwire.protocol.endpoint import Endpoint

    try:
        Endpoint.parse_all(bootstrap, protocol)
    except ValueError as error:
        raise address_error(error, source) from None


def _warn_of_variable(cluster: str, protocol: str, *, has_properties: bool) -> None:
    """Warn that a file of the environment is not used, because the user may think that the connection is secured."""
    from pathlib import Path

    variable = VARIABLES["command_config"]
    file = os.environ.get(variable)
    if file and (not has_properties or _is_weaker(protocol, _protocol_of(Path(file)))):
        problem = f"{variable} has no effect beside --cluster: set clusters.{cluster}.properties in {config_path()}"
        print(f"Warning: {problem}", file=sys.stderr)


def _overrides(texts: Sequence[str]) -> dict[str, str]:
    """Return the properties of `-X`.

    Raises:
        click.UsageError: a text is not a property, or contains a secret, which all users of the machine could read.
    """
    if not texts:
        return {}
    from kwire.client.security.known_keys import is_secret_key

    overrides = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise usage_error(f"{text!r} is not a property: write -X KEY=VALUE, such as -X security.protocol=SSL")
        if is_secret_key(key) and not value.startswith("${"):
            raise usage_error(
                f"{key} contains a secret, and all users of this machine can read the arguments of a command: put it "
                f"into the file of --command-config, or write -X '{key}=${{file:PATH:KEY}}'"
            )
        overrides[key] = value
    return overrides


def _read_config() -> dict[str, Any]:
    import tomllib

    from kwire._util.text_files import read_text

    path = config_path()
    try:
        return tomllib.loads(read_text(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise usage_error(f"cannot read {path}: {error}") from None


def _named(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the table of a cluster, after checking its keys."""
    clusters = document.get("clusters", {})
    if name not in clusters:
        close = similar(name, tuple(clusters))
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(clusters)) or 'none'}"
        raise usage_error(f"{config_path()} has no cluster {name!r}: {hint}")
    table: Mapping[str, Any] = clusters[name]
    for key, value in table.items():
        if key not in KEYS:
            close = similar(key, tuple(KEYS))
            hint = f": did you mean {close[0]}?" if close else ""
            raise usage_error(f"{config_path()}: unknown key clusters.{name}.{key}{hint}")
        if not isinstance(value, KEYS[key]):
            raise usage_error(f"{config_path()}: clusters.{name}.{key} has the wrong type {type(value).__name__}")
    if table.get("confirm", "type-name") != "type-name":
        raise usage_error(f"{config_path()}: clusters.{name}.confirm can only be 'type-name'")
    return table


def _properties(
    command_config: Path | None,
    configured: str | Mapping[str, Any] | None,
    overrides: Mapping[str, str],
    password_command: str | None,
) -> ClientProperties | None:
    """Return the client properties of `--command-config`, or else of the configuration file, with overrides."""
    if command_config is None and configured is None and not overrides:
        return None
    from pathlib import Path

    file = command_config
    if isinstance(configured, str) and file is None:
        file = config_path().parent / configured
    properties = _read_properties(file, configured, overrides, password_command)
    protocol = properties.connection.security_protocol
    for source in (command_config, configured):
        replaced = _protocol_of(source)
        if not _is_weaker(protocol, replaced):
            continue
        name = source if isinstance(source, Path) else config_path()
        if "security.protocol" not in overrides:
            raise usage_error(
                f"{command_config} has security.protocol={protocol}, and would replace {replaced} of {name}: use the "
                f"same protocol, or give -X security.protocol={protocol}"
            )
        print(f"Warning: -X security.protocol={protocol} replaces {replaced} of {name}", file=sys.stderr)
    return properties


def _protocol_of(source: Path | str | Mapping[str, Any] | None) -> str:
    """Return `security.protocol` of a file or of a table of the configuration file; PLAINTEXT if it is not known.

    Only this key is read: a file that is replaced may name stores that do not exist.
    """
    from pathlib import Path

    from kwire._util.properties import parse_properties
    from kwire._util.text_files import EncodingError, read_properties

    if isinstance(source, str):
        source = config_path().parent / source
    if isinstance(source, Path):
        try:
            source = parse_properties(read_properties(source))
        except (OSError, EncodingError):
            return "PLAINTEXT"
    return str(_flat(source or {}).get("security.protocol", "PLAINTEXT")).strip().upper()


def _is_weaker(protocol: str, replaced: str) -> bool:
    """Return whether a protocol lacks TLS or authentication that another one has."""
    lacks_tls = replaced.endswith("SSL") and not protocol.endswith("SSL")
    return lacks_tls or (replaced.startswith("SASL_") and not protocol.startswith("SASL_"))


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the properties of a table. TOML takes the dots of `security.protocol` without quotes for nested tables.

    Raises:
        click.UsageError: the value of a key is not one of a property.
    """
    properties: dict[str, str] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            properties |= _flat(value, f"{name}.")
        elif isinstance(value, bool):
            properties[name] = str(value).lower()
        elif isinstance(value, list) and all(isinstance(element, str) for element in value):
            properties[name] = ",".join(value)
        elif isinstance(value, str | int):
            properties[name] = str(value)
        else:
            raise usage_error(f"{config_path()}: {name} has the wrong type {type(value).__name__}")
    return properties


def _read_properties(
    file: Path | None,
    configured: str | Mapping[str, Any] | None,
    overrides: Mapping[str, str],
    password_command: str | None,
) -> ClientProperties:
    """Return the client properties of a file, or else of a table of the configuration file, with overrides."""
    from kwire.client.security import ClientProperties, SecurityConfigError

    def password() -> Secret:
        assert password_command is not None
        return _run_password_command(password_command)

    source = None if password_command is None else password
    if file is not None:
        from kwire.terminal.options import load_command_config

        return load_command_config(file, overrides, source)
    assert not isinstance(configured, str)
    merged = {**_flat(configured or {}), **overrides}
    origin = "-X" if configured is None else str(config_path())
    try:
        properties = ClientProperties.parse(merged, source=origin, password=source)
    except SecurityConfigError as error:
        raise usage_error(str(error)) from None
    for warning in properties.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    return properties


def _run_password_command(command: str) -> Secret:
    """Return the first line that a command prints. It is split into words like a command line, and needs no shell.

    Raises:
        click.UsageError: the command fails, or prints nothing.
    """
    import shlex
    import subprocess

    try:
        done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, check=False)
    except (OSError, ValueError) as error:
        raise usage_error(f"cannot run password_command {command!r}: {error}") from None
    if done.returncode != 0:
        raise usage_error(f"password_command {command!r} failed with exit code {done.returncode}")
    lines = done.stdout.decode("utf-8", "surrogateescape").replace("\r\n", "\n").split("\n")
    if not lines or not lines[0]:
        raise usage_error(f"password_command {command!r} printed no password")
    return Secret(lines[0])
