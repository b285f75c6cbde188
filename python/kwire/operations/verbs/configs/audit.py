"""`kafka configs audit`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from kwire.client.admin import ConfigResource
from kwire.operations.declaration import Rows, operation
from kwire.operations.parameters import Option
from kwire.operations.run import Run
from kwire.operations.verbs.resources import name_resource


@dataclass(frozen=True, slots=True)
class ConfigAudit:
    """A change of a config of brokers, of an ACL, or of the credential of a user.

    Attributes:
        at: time of the change.
        author: the maker: the client id and the address.
        node: the node that wrote it.
        resource: the change, such as `broker/default`, `acls/Topic/literal/orders`, or `users/alice`.
        name: the name of the config, `acls`, or the mechanism of the credential.
        old: its value before; None if it was not set.
        new: its value after; None if it was deleted.
    """

    at: str
    author: str
    node: int
    resource: str
    name: str
    old: str | None
    new: str | None


@operation(nothing="No change is recorded.", dialects=("kip4",), examples=("configs audit --newest 20",))
async def audit(run: Run, newest: Annotated[int, Option("How many changes to list.", "N")] = 100) -> Rows[ConfigAudit]:
    """List who changed which configs of brokers, ACLs, and credentials of users, oldest first."""
    return [
        ConfigAudit(
            datetime.fromtimestamp(each.timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds"),
            each.author,
            each.node_id,
            name_resource(each.resource) if isinstance(each.resource, ConfigResource) else each.resource,
            each.name,
            each.old,
            each.new,
        )
        for each in await run.admin.recorded_config_changes(newest)
    ]
