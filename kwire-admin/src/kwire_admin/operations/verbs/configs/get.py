"""`kafka configs get`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire._util.similar_names import similar
from kwire.client.admin import AdminError, ConfigResourceType
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, NotFound, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.resources import RESOURCE, parse_resource


@dataclass(frozen=True, slots=True)
class Config:
    """A config of a resource.

    Attributes:
        resource: the resource, such as `topic/orders`.
        name: the name of the config.
        value: its value; None if it is secret or not set.
        source: source of the value, such as `topic`, `static`, or `default`.
        sensitive: true if it is a secret, which brokers never return.
        read_only: true if it cannot be changed while the broker runs.
    """

    resource: str
    name: str
    value: str | None
    source: str
    sensitive: bool
    read_only: bool


@operation(
    nothing="No configs.",
    examples=("configs get topic/orders", "configs get broker/1 --all", "configs get topic/orders retention.ms"),
)
async def get(
    run: Run,
    resource: Annotated[
        str, Argument("topic/NAME, broker/ID, broker/default, group/ID.", "RESOURCE", "resources", syntax=RESOURCE)
    ],
    names: Annotated[list[str], Argument("Names of configs [default: all that are set].", "NAME", "configs")],
    all: Annotated[bool, Option("Include defaults, and what a topic inherits from its brokers.")] = False,
) -> Rows[Config]:
    """Get the configs of a resource, with where their values come from."""
    parsed = parse_resource(resource)
    configs = (await run.admin.describe_configs([parsed]))[parsed]
    if isinstance(configs, AdminError):
        return [Failure(resource, configs)]
    # The drafts of KIP-4 report only what a topic overrides, so any other name may be valid there.
    for name in names if run.admin.dialect == "kafka" else ():
        if name not in configs:
            suggested = similar(name, tuple(configs))
            hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
            raise NotFound(f"{resource} has no config {name!r}{hint}")
    # The file of a broker sets values; for a topic, they are inherited.
    inherited = ("DEFAULT",) if parsed.type is ConfigResourceType.BROKER else ("DEFAULT", "STATIC")
    return [
        Config(
            resource,
            name,
            value.value,
            value.source.name.lower().replace("_", "-"),
            value.is_sensitive,
            value.is_read_only,
        )
        for name, value in sorted(configs.items())
        if (name in names if names else all or value.source.name not in inherited)
    ]
