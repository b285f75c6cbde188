"""The properties file of a KRaft controller, for `kafka-metadata-quorum add-controller`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire._util.properties import parse_properties
from kwire._util.text_files import EncodingError, read_properties
from kwire.client.security.known_keys import is_known
from kwire.protocol.endpoint import Endpoint
from kwire.uuids import uuid_from_text
from kwire_admin.compat.script import ScriptFailed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

__all__ = ["NewVoter", "read_controller"]

NO_CONTROLLER = "Is this a valid controller configuration file?"


class NewVoter(NamedTuple):
    """A controller that is to become a voter.

    Attributes:
        id: its node id.
        directory_id: the id of its metadata directory.
        listeners: its addresses by name of the listener.
        client_properties: the keys of clients in the file, with which Kafka's script connects.
    """

    id: int
    directory_id: UUID
    listeners: Mapping[str, Endpoint]
    client_properties: Mapping[str, str]


def read_controller(path: Path) -> NewVoter:
    """Read the properties file of a controller, and the `meta.properties` in its metadata directory.

    Raises:
        ScriptFailed: a file cannot be read or lacks something. The texts equal those of Kafka's script.
    """
    properties = _read(path)
    id = properties.get("node.id")
    if id is None:
        raise ScriptFailed(f"node.id not found in configuration file. {NO_CONTROLLER}")
    if not id.isdigit():
        raise ScriptFailed(f"node.id was negative in configuration file. {NO_CONTROLLER}")
    if "controller" not in properties.get("process.roles", ""):
        raise ScriptFailed(f"process.roles did not contain 'controller' in configuration file. {NO_CONTROLLER}")
    of_clients = {key: value for key, value in properties.items() if is_known(key)}
    return NewVoter(int(id), _directory_id(properties), _listeners(properties), of_clients)


def _read(path: Path) -> dict[str, str]:
    try:
        return parse_properties(read_properties(path))
    except OSError as error:
        raise ScriptFailed(f"Properties file {path} cannot be read: {error.strerror}") from None
    except EncodingError as error:
        raise ScriptFailed(f"Properties file {path} cannot be read: {error}") from None


def _directory_id(properties: Mapping[str, str]) -> UUID:
    folder = properties.get("metadata.log.dir") or properties.get("log.dirs", "").split(",")[0].strip()
    if not folder:
        raise ScriptFailed(f"Neither metadata.log.dir nor log.dirs were found. {NO_CONTROLLER}")
    file = Path(folder) / "meta.properties"
    if not file.exists():
        raise ScriptFailed(f"Unable to read meta.properties from {folder}")
    text = _read(file).get("directory.id")
    if text is None:
        raise ScriptFailed(f"No directory id found in {folder}")
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise ScriptFailed(f"{file}: {error}") from None


def _listeners(properties: Mapping[str, str]) -> dict[str, Endpoint]:
    """Return the advertised address of each controller listener, or that on which it listens."""
    names = properties.get("controller.listener.names")
    if names is None:
        raise ScriptFailed(f"controller.listener.names was not found. {NO_CONTROLLER}")
    addresses: dict[str, str] = {}
    for key in ("listeners", "advertised.listeners"):
        for text in filter(None, map(str.strip, properties.get(key, "").split(","))):
            name, _, address = text.partition("://")
            addresses[name.upper()] = address
    listeners = {}
    for name in (name.strip().upper() for name in names.split(",")):
        if name not in addresses:
            raise ScriptFailed(f"Cannot find information about controller listener name: {name}")
        address = addresses[name]
        try:
            listeners[name] = Endpoint.parse(f"localhost{address}" if address.startswith(":") else address)
        except ValueError as error:
            raise ScriptFailed(f"listener {name}: {error}") from None
    return listeners
