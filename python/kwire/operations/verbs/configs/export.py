"""`kafka configs export`."""

from __future__ import annotations

from dataclasses import dataclass

from kwire.operations.declaration import Rows, operation
from kwire.operations.run import Run
from kwire.operations.verbs.resources import name_resource


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """A config that is stored for a resource.

    Attributes:
        resource: the resource, such as `broker/default` or `topic/orders`.
        name: the name of the config.
        value: its value.
    """

    resource: str
    name: str
    value: str


@operation(
    nothing="No configs are stored.", dialects=("kip4",), examples=("configs export --output json > configs.json",)
)
async def export(run: Run) -> Rows[StoredConfig]:
    """Export what is stored for all brokers and topics, for `configs apply`."""
    stored = await run.admin.export_configs()
    return [
        StoredConfig(name_resource(resource), name, value)
        for resource, values in stored.items()
        for name, value in values.items()
    ]
