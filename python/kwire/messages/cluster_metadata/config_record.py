"""ConfigRecord: the value of a config."""

from __future__ import annotations

from kwire.declare import Message, field, int8, nullable, string


class ConfigRecord(Message, record_type=4, versions="0", flexible="0+"):
    """A dynamic config is set or deleted."""

    resource_type: int8
    """The number of the type as in config requests: 2 topic, 4 broker."""
    resource_name: string
    """The name of the topic, or the node id as text; empty for the default of all brokers."""
    name: string
    """The key of the config, for example `retention.ms`."""
    value: nullable[string] = field(sensitive="name")
    """The value as text; None deletes the config."""
