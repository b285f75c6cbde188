"""Settings that are kept in ZooKeeper, and the notes that say that some have changed.

Rules of this file: settings are read as leniently as Kafka 3.9 reads them: what has no object of settings has no
settings. A note comes in three forms, of which the release of the brokers that shall understand it decides. A setting
without its note is seen by no running broker.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from kwire.cluster.zookeeper.errors import ZnodeError
from kwire.cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, dump, parse, read_only

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_ENTITY",
    "ConfigChangeNotification",
    "EntityConfig",
    "EntityType",
    "NotificationFormat",
    "desanitized",
    "notification_format",
    "sanitized",
]

EntityType: TypeAlias = Literal["topics", "clients", "users", "brokers", "ips"]
NotificationFormat: TypeAlias = Literal["quoted", "v1", "v2"]

DEFAULT_ENTITY = "<default>"
"""The name, literally, of the node with what holds for all clients, users, brokers or addresses."""

_ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)


@dataclass(frozen=True, slots=True)
class EntityConfig:
    """``/config/<type>/<name>``: settings of one topic, client, user, broker or address. Values are strings."""

    config: Mapping[str, str] = field(default_factory=dict)
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", read_only(self.config))

    @staticmethod
    def path(entity_type: EntityType, name: str) -> str:
        """Where it is. ``name``: as in the node, so ``sanitized`` for clients and users, or ``DEFAULT_ENTITY``.

        A client of a user has the name ``<user>/clients/<client>`` among the users.
        """
        return f"/config/{entity_type}/{name}"

    def encode(self) -> bytes:
        """Version 1, the only one."""
        return dump({"version": 1, "config": dict(self.config)}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/config") -> EntityConfig:
        """Errors: ZnodeError, for a value that is no string. What is no JSON, or has no settings, is empty."""
        try:
            values = parse(data, path)
        except ZnodeError:
            return cls()
        if not isinstance(values, dict):
            return cls()
        node = JsonObject(values, path)
        node.drop("version")
        config = node.text_map("config") if isinstance(values.get("config"), dict) else {}
        node.drop("config")
        return cls(config, node.unknown())


def notification_format(release: tuple[int, ...]) -> NotificationFormat:
    """What brokers of this release, such as (0, 9, 0), understand."""
    if release < (0, 9):
        return "quoted"
    return "v1" if release < (0, 10, 1) else "v2"


@dataclass(frozen=True, slots=True)
class ConfigChangeNotification:
    """``/config/changes/config_change_<number>``, sequential: whose settings have changed.

    ``entity_path``: the path below ``/config``, such as ``topics/orders``. Kafka removes such nodes after 15 minutes.
    """

    entity_path: str
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/config/changes"

    @staticmethod
    def path(number: int | None = None) -> str:
        """Where it is; without number: what to create as a sequential node."""
        return "/config/changes/config_change_" + ("" if number is None else f"{number:010d}")

    @property
    def entity_type(self) -> str:
        """Such as ``topics``."""
        return self.entity_path.partition("/")[0]

    @property
    def entity_name(self) -> str:
        """The rest of the path, as in the node's name."""
        return self.entity_path.partition("/")[2]

    def encode(self, form: NotificationFormat = "v2") -> bytes:
        """``quoted`` is for Kafka 0.8.1 and 0.8.2, ``v1`` for 0.9 and 0.10.0. ValueError where a form has no place."""
        if form == "v2":
            return dump({"version": 2, "entity_path": self.entity_path}, self.unknown)
        if self.entity_type not in (("topics",) if form == "quoted" else ("topics", "clients")):
            raise ValueError(f"a note of the form {form} cannot tell of {self.entity_path}")
        if form == "quoted":
            return dump_text(self.entity_name)
        values = {"version": 1, "entity_type": self.entity_type, "entity_name": self.entity_name}
        return dump(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/config/changes") -> ConfigChangeNotification:
        """Of any of the three forms. Errors: ZnodeError."""
        value = parse(data, path)
        if isinstance(value, str):
            return cls(f"topics/{JsonObject({'': value}, path).node_name('')}")
        node = JsonObject(value, path)
        version = node.integer("version")
        if version == 1:
            entity_type = node.text("entity_type")
            if entity_type not in {"topics", "clients"}:
                raise node.fault("entity_type", f"{entity_type!r}: version 1 knows topics and clients only")
            return cls(f"{entity_type}/{node.text('entity_name')}", node.unknown())
        if version != 2:
            raise node.fault("version", f"{version}: supported are 1 and 2")
        entity_path = node.text("entity_path")
        entity_type, slash, name = entity_path.partition("/")
        if entity_type not in _ENTITY_TYPES or not slash or not name or name.endswith("/"):
            raise node.fault("entity_path", f"{entity_path!r} has not the form <type>/<name>")
        return cls(entity_path, node.unknown())


def sanitized(name: str) -> str:
    """A client's or user's name as that of a node (Kafka's ``Sanitizer``, from 0.10.1 on)."""
    return urllib.parse.quote(name, safe="-_.")


def desanitized(name: str) -> str:
    """The name that a node's name stands for."""
    return urllib.parse.unquote(name)


def dump_text(text: str) -> bytes:
    """A JSON string, quotes included."""
    return dump({"": text})[4:-1]
