"""Resources with configs, as arguments name them: `topic/orders`, `broker/1`, `broker/default`; and their changes."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire.client.admin import ConfigResource, ConfigResourceType, ShadowedConfig
from kwire_admin.operations.parameters import INDEX, Syntax
from kwire_admin.operations.rows import column

TYPES = {member.singular: member for member in ConfigResourceType}

BROKERS = (ConfigResourceType.BROKER.singular, ConfigResourceType.BROKER_LOGGER.singular)
RESOURCE = Syntax(
    rf"(?:{'|'.join(kind for kind in TYPES if kind not in BROKERS)})/[\s\S]+"
    rf"|(?:{'|'.join(BROKERS)})/{INDEX}|{BROKERS[0]}/default",
    f"a resource: write TYPE/NAME, such as topic/orders, with a type of {', '.join(TYPES)}; a broker has a number",
)


def parse_resource(text: str) -> ConfigResource:
    """Return the resource for a text.

    Raises:
        InvalidArgument: the text does not name a resource.
    """
    RESOURCE.match(text)
    kind, _, name = text.partition("/")
    is_default = TYPES[kind] is ConfigResourceType.BROKER and name == "default"
    return ConfigResource(TYPES[kind], "" if is_default else name)


def name_resource(resource: ConfigResource) -> str:
    """Return the text that `parse_resource` reads."""
    return f"{resource.type.singular}/{resource.name or 'default'}"


@dataclass(frozen=True, slots=True)
class ConfigsChanged:
    """The outcome of a change of the configs of a resource.

    Attributes:
        name: the resource, such as `topic orders`.
        status: the outcome, such as `set`, or `would be set` in a dry run.
        attempts: number of times the request was sent.
        shadowed_by: brokers on which the change has no effect, because a config of the broker itself, or on kwire's
            nodes its file, takes precedence; with the reason for a broker that cannot be asked.
    """

    name: str
    status: str
    attempts: int = field(metadata=column(table=False))
    shadowed_by: tuple[ShadowedConfig, ...]
