"""Configs: the resources that have them, their values, and changes."""

from __future__ import annotations

import re
from enum import IntEnum

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.messages.kafka.describe_configs import DescribeConfigsResourceResult


class ConfigResourceType(IntEnum):
    """The type of a resource with configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @property
    def singular(self) -> str:
        """The name of the type, such as `topic` or `broker-logger`."""
        return self.name.lower().replace("_", "-")


class ConfigResource(NamedTuple):
    """A resource with configs.

    Attributes:
        type: its type.
        name: its name; for a broker, its id, or an empty string for the default of all brokers.
    """

    type: ConfigResourceType
    name: str

    @property
    def broker_id(self) -> int | None:
        """The broker that alone knows the resource; None if every broker does."""
        of_broker = self.type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and self.name
        return int(self.name) if of_broker else None

    def __str__(self) -> str:
        return f"{self.type.singular} {self.name or 'default'}"


class WireCode(IntEnum):
    """A number of the protocol. Number 0 is `UNKNOWN` and stands for all numbers without a name."""

    @classmethod
    def of(cls, code: int) -> Self:
        """Return the member for a number of the protocol."""
        return cls(code if code in cls._value2member_map_ else 0)


class ConfigSource(WireCode):
    """Source of the value of a config."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER_DEFAULT = 3
    STATIC = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


def stored_source(resource: ConfigResource) -> ConfigSource:
    """Return the source of the configs that a resource itself stores."""
    if resource.type is ConfigResourceType.BROKER:
        return ConfigSource.BROKER if resource.name else ConfigSource.CLUSTER_DEFAULT
    return ConfigSource[resource.type.name]


class ConfigType(WireCode):
    """Type of the values of a config, by its number in DescribeConfigs."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    def canonical(self, text: str) -> str:
        """Return the one spelling of a value: `True` is `true`, `+7` is `7`, and `a, b` is `a,b`.

        A broker parses what it is given and reports what it has parsed (Kafka's ConfigDef), so texts that differ can
        be the same value. An invalid value stays as it is.
        """
        if self is ConfigType.UNKNOWN:
            return text
        trimmed = text.strip(JAVA_SPACES)
        match self:
            case ConfigType.BOOLEAN if trimmed.lower() in ("true", "false"):
                return trimmed.lower()
            case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG if INTEGER.fullmatch(trimmed):
                return str(int(trimmed))
            case ConfigType.DOUBLE if DECIMAL.fullmatch(trimmed):
                return repr(float(trimmed.rstrip("dDfF")))
            case ConfigType.LIST:
                return ",".join(re.split(r"[ \t\n\v\f\r]*,[ \t\n\v\f\r]*", trimmed))
        return trimmed


JAVA_SPACES = "".join(map(chr, range(0x21)))
"""Characters that `String.trim` of Java removes."""
INTEGER = re.compile("[+-]?[0-9]{1,19}")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")


def is_same_value(reported: str | None, stated: str | None) -> bool:
    """Return whether a broker that was given `stated` might report `reported`, whatever the type of the config."""
    if reported is None or stated is None:
        return reported is stated
    return any(type.canonical(reported) == type.canonical(stated) for type in ConfigType)


class ConfigSynonym(NamedTuple):
    """A place that a config has a value in: its name there, the value, and the source."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigValue(NamedTuple):
    """The value of a config.

    Attributes:
        value: the value; None if it is secret or not set.
        source: its source.
        is_sensitive: True for a secret, which brokers never return.
        is_read_only: True if it cannot be changed while the broker runs.
        documentation: a description; None if it was not requested.
        synonyms: the values by source, the source in use first; empty if not requested.
        type: its type; UNKNOWN before Kafka 2.6.
    """

    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    documentation: str | None = None
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: ConfigType = ConfigType.UNKNOWN

    @classmethod
    def of_result(cls, config: DescribeConfigsResourceResult) -> Self:
        """Return the value that a DescribeConfigs response reports."""
        source = ConfigSource.of(config.config_source)
        synonyms = tuple(
            ConfigSynonym(synonym.name, synonym.value, ConfigSource.of(synonym.source)) for synonym in config.synonyms
        )
        return cls(
            config.value,
            source,
            config.is_sensitive,
            config.read_only,
            config.documentation or None,
            synonyms,
            ConfigType.of(config.config_type),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """Changes of the configs of a resource. Configs that are not named stay as they are.

    Attributes:
        set: values to set.
        delete: names of configs to reset to their defaults.
        append: values to append to configs that are lists.
        subtract: values to remove from configs that are lists.
    """

    set: Mapping[str, str] = field(default_factory=dict)
    delete: Sequence[str] = ()
    append: Mapping[str, str] = field(default_factory=dict)
    subtract: Mapping[str, str] = field(default_factory=dict)


class RecordedChange(NamedTuple):
    """A change in the audit: of a config of brokers, of an ACL, of the credential of a user, of a topic, or of
    finalized features.

    Attributes:
        timestamp_ms: its time in milliseconds since 1970.
        author: the principal, the client id, and the address of its author.
        node_id: the node that wrote it.
        resource: the resource with the config; otherwise where nodes store it, such as `users/alice`,
            `acls/Topic/literal/orders`, or `features`.
        name: the config, the mechanism of the credential, `acls`, or the feature; of a topic also `topic_id` if it was
            created or deleted, `partitions` (their number), `replicas`, and `leaders` as in `0: 1,2; 1: 2,3`.
        old: its value before; None if it was not set.
        new: its value after; None if it is not set. Credentials are hidden.
    """

    timestamp_ms: int
    author: str
    node_id: int
    resource: ConfigResource | str
    name: str
    old: str | None
    new: str | None
