"""Resources with configs, as arguments name them: `topic/orders`, `broker/1`, `broker/default`."""

from __future__ import annotations

from kwire.client.admin import ConfigResource, ConfigResourceType
from kwire.operations.parameters import InvalidArgument

TYPES = {member.singular: member for member in ConfigResourceType}


def parse_resource(text: str) -> ConfigResource:
    """Return the resource for a text.

    Raises:
        InvalidArgument: the text does not name a resource.
    """
    kind, slash, name = text.partition("/")
    if not slash or kind not in TYPES or not name:
        raise InvalidArgument(
            f"{text!r} is not a resource: write TYPE/NAME, such as topic/orders, with a type of {', '.join(TYPES)}"
        )
    resource = TYPES[kind]
    if resource in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        if name == "default" and resource is ConfigResourceType.BROKER:
            return ConfigResource(resource, "")
        if not name.isdecimal():
            raise InvalidArgument(f"{text!r} does not name a broker: write {kind}/ID with a number")
    return ConfigResource(resource, name)


def name_resource(resource: ConfigResource) -> str:
    """Return the text that `parse_resource` reads."""
    return f"{resource.type.singular}/{resource.name or 'default'}"
