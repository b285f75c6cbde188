"""`kafka quotas get`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.quota_entities import DEFAULT_HELP, EntityQuotas, entity_texts, parse_entity


@operation(
    nothing="No quotas are set.",
    dialects=("kafka",),
    examples=("quotas get", "quotas get --user alice", "quotas get --client-id '<default>' --strict -o json"),
)
async def get(
    run: Run,
    user: Annotated[str | None, Option(f"Only entities with this user; {DEFAULT_HELP}.", "NAME", "users")] = None,
    client_id: Annotated[str | None, Option(f"Only entities with this client id; {DEFAULT_HELP}.", "ID")] = None,
    ip: Annotated[str | None, Option(f"Only this IP address; {DEFAULT_HELP}.", "ADDRESS")] = None,
    strict: Annotated[bool, Option("Only entities without other parts.")] = False,
) -> Rows[EntityQuotas]:
    """Show the quotas that are set."""
    quotas = await run.admin.describe_client_quotas(parse_entity(user, client_id, ip), strict=strict)
    return [EntityQuotas(*entity_texts(entity), quotas[entity]) for entity in sorted(quotas, key=str)]
