"""Settings: name, type, default, meaning, where a setting can be set, and whether a running node follows changes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kwire.declare.documentation import texts_below_fields
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cluster.config.value_types import ValueType


class Level(StrEnum):
    """Scopes in which a setting can be set, besides the file of a node.

    Clients have no level. KAFKA-1694 calls settings of brokers and topics global; what Kafka stores for clients in
    `/config/clients` are quotas of producers and consumers, which nodes without records have nothing to apply to.
    """

    CLUSTER = "cluster"
    """For every broker, and differently for one of them."""
    BROKER = "broker"
    """For one broker only, because two brokers must not share the value."""
    TOPIC = "topic"


class SettingError(KwireError, ValueError):
    """A setting that is missing or has an invalid value."""

    def __init__(self, name: str, text: str, reason: str) -> None:
        super().__init__(name, text, reason)
        self.name = name
        self.text = text
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}={self.text}: {self.reason}" if self.text else f"{self.name}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting.

    Attributes:
        name: the name in `server.properties` and in ZooKeeper.
        type: its type.
        default: the value without any text; None if there is none.
        help: the meaning.
        level: the level at which it can be set.
        is_live: true if a running node follows changes; otherwise, it is read-only and set in the file.
        is_secret: true if values are never shown.
        attribute: the attribute of NodeSettings, empty for topics.
    """

    name: str
    type: ValueType
    default: Any = None
    help: str = ""
    level: Level = Level.CLUSTER
    is_live: bool = False
    is_secret: bool = False
    attribute: str = ""

    def parse(self, text: str) -> Any:
        """Return the value of a text.

        Raises:
            SettingError: the text is invalid.
        """
        try:
            return self.type.parse(text)
        except ValueError as error:
            raise SettingError(self.name, "(hidden)" if self.is_secret else text, str(error)) from None

    @property
    def default_text(self) -> str | None:
        """The default as it would be written in a file."""
        match self.default:
            case None | "" | ():
                return None
            case bool():
                return str(self.default).lower()
            case (str(host), int(port)):
                return f"{host}:{port}"
            case tuple():
                return ",".join(map(str, self.default))
            case dict():
                return ""
            case frozenset():
                return ";".join(sorted(self.default)) or None
        return str(self.default)


def setting(
    name: str,
    type: ValueType,
    default: Any = None,
    *,
    level: Level = Level.CLUSTER,
    is_live: bool = False,
    is_secret: bool = False,
) -> Any:
    """Declare a field of NodeSettings as a setting; its docstring is the meaning."""
    declared = Setting(name, type, default, level=level, is_live=is_live, is_secret=is_secret)
    metadata = {"setting": declared}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_of(cls: type[Any]) -> Mapping[str, Setting]:
    """Return the settings that a class declares, by name."""
    texts = texts_below_fields(cls)
    settings = {}
    for declared_field in fields(cls):
        if "setting" in declared_field.metadata:
            declared: Setting = declared_field.metadata["setting"]
            help = " ".join(texts.get(declared_field.name, "").split())
            settings[declared.name] = replace(declared, help=help, attribute=declared_field.name)
    return settings
