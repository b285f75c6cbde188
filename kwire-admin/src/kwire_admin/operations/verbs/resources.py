"""Resources with configs, as arguments name them: `topic/orders`, `broker/1`, `broker/default`."""

from __future__ import annotations

from kwire.client.admin import ConfigResource, ConfigResourceType
from kwire_admin.operations.parameters import INDEX, Syntax

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
