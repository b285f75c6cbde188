"""Znodes of configs and of config change notifications.

Configs are decoded as leniently as in Kafka 3.9: data without a config object are empty configs. A notification has one
of three formats, depending on the release of the brokers that read it. Brokers apply a changed config only after its
notification.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from kwire_cluster.zookeeper.errors import ZnodeError
from kwire_cluster.zookeeper.json_object import (
    NO_UNKNOWN_KEYS,
    JsonObject,
    UnknownKeys,
    decode_json,
    encode_json,
    freeze,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

EntityType: TypeAlias = Literal["topics", "clients", "users", "brokers", "ips"]
NotificationFormat: TypeAlias = Literal["quoted", "v1", "v2"]

DEFAULT_ENTITY = "<default>"
"""Literal name of the znode with the default configs of all clients, users, brokers, or IP addresses."""

_ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)


@dataclass(frozen=True, slots=True)
class EntityConfig:
    """`/config/<type>/<name>`: configs of a topic, client, user, broker, or IP address.

    Attributes:
        config: the values by name, all strings.
        unknown: other keys of the object.
        warnings: the reason why other data count as empty configs. Not written and not compared.
    """

    config: Mapping[str, str] = field(default_factory=dict)
    unknown: UnknownKeys = NO_UNKNOWN_KEYS
    warnings: tuple[ZnodeError, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", freeze(self.config))

    @staticmethod
    def path(entity_type: EntityType, name: str) -> str:
        """Return the path.

        Args:
            entity_type: the type of the entity.
            name: the name of the znode: DEFAULT_ENTITY, or `sanitize(name)` for clients and users. The name of a client
                of a user is `<user>/clients/<client>`, with the type `users`.
        """
        return f"/config/{entity_type}/{name}"

    def encode(self) -> bytes:
        """Encode as version 1."""
        return encode_json({"version": 1, "config": dict(self.config)}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/config") -> EntityConfig:
        """Decode the data, or raise ZnodeError for a value that is not a string. Data without configs are empty."""
        try:
            values = decode_json(data, path)
        except ZnodeError as error:
            return cls(warnings=(error,) if data else ())
        if not isinstance(values, dict):
            return cls(warnings=(ZnodeError(path, "", "not an object: read as no configs"),))
        document = JsonObject(values, path)
        document.ignore("version")
        has_configs = isinstance(values.get("config"), dict)
        config = document.string_map("config") if has_configs else {}
        document.ignore("config")
        warnings = () if has_configs else (ZnodeError(path, "config", "not an object: read as no configs"),)
        return cls(config, document.unknown(), warnings)


def notification_format(release: tuple[int, ...]) -> NotificationFormat:
    """Return the format of notifications for brokers of a release such as (0, 9, 0)."""
    if release < (0, 9):
        return "quoted"
    return "v1" if release < (0, 10, 1) else "v2"


@dataclass(frozen=True, slots=True)
class ConfigChangeNotification:
    """`/config/changes/config_change_<number>`, sequential: an entity with changed configs.

    `entity_path` is the path below `/config`, such as `topics/orders`. Kafka deletes these znodes after 15 minutes.
    """

    entity_path: str
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/config/changes"

    @staticmethod
    def path(number: int | None = None) -> str:
        """Return the path, without a number the prefix to create a sequential znode."""
        return "/config/changes/config_change_" + ("" if number is None else f"{number:010d}")

    @property
    def entity_type(self) -> str:
        """The type of the entity, such as `topics`."""
        return self.entity_path.partition("/")[0]

    @property
    def entity_name(self) -> str:
        """The name of the entity's znode."""
        return self.entity_path.partition("/")[2]

    def encode(self, form: NotificationFormat = "v2") -> bytes:
        """Encode as `quoted` (Kafka 0.8.1 and 0.8.2), `v1` (0.9 and 0.10.0), or `v2` (later releases).

        Raises:
            ValueError: the format does not support this type of entity.
        """
        if form == "v2":
            return encode_json({"version": 2, "entity_path": self.entity_path}, self.unknown)
        if self.entity_type not in (("topics",) if form == "quoted" else ("topics", "clients")):
            raise ValueError(f"format {form} does not support {self.entity_path}")
        if form == "quoted":
            return _json_string(self.entity_name)
        values = {"version": 1, "entity_type": self.entity_type, "entity_name": self.entity_name}
        return encode_json(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/config/changes") -> ConfigChangeNotification:
        """Decode any of the three formats, or raise ZnodeError."""
        value = decode_json(data, path)
        if isinstance(value, str):
            return cls(f"topics/{JsonObject({'': value}, path).znode_name('')}")
        document = JsonObject(value, path)
        version = document.integer("version")
        if version == 1:
            entity_type = document.string("entity_type")
            if entity_type not in {"topics", "clients"}:
                raise document.error("entity_type", f"expected topics or clients in version 1, found {entity_type!r}")
            return cls(f"{entity_type}/{document.string('entity_name')}", document.unknown())
        if version != 2:
            raise document.error("version", f"expected 1 or 2, found {version}")
        entity_path = document.string("entity_path")
        entity_type, slash, name = entity_path.partition("/")
        if entity_type not in _ENTITY_TYPES or not slash or not name or name.endswith("/"):
            raise document.error("entity_path", f"expected <type>/<name>, found {entity_path!r}")
        return cls(entity_path, document.unknown())


def sanitize(name: str) -> str:
    """Return the name of the znode of a client or user (Kafka's `Sanitizer`, from 0.10.1 on)."""
    return urllib.parse.quote(name, safe="-_.")


def desanitize(name: str) -> str:
    """Return the client or user that a znode belongs to."""
    return urllib.parse.unquote(name)


def _json_string(string: str) -> bytes:
    return encode_json({"": string})[4:-1]
