"""`kafka quotas delete`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.argument_checks import Choice
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, NotFound, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.quota_entities import DEFAULT_HELP, QuotaChange, parse_entity, quota_changes


@operation(
    Danger.DESTROYS,
    waits=True,
    choices=(Choice(("user", "client_id", "ip"), most=None),),
    dialects=("kafka",),
    examples=("quotas delete producer_byte_rate --user alice", "quotas delete --client-id '<default>' --yes"),
)
async def delete(
    run: Run,
    keys: Annotated[list[str], Argument("Keys, such as producer_byte_rate [default: all of the entity].", "KEY")],
    user: Annotated[str | None, Option(f"The user; {DEFAULT_HELP}.", "NAME", "users")] = None,
    client_id: Annotated[str | None, Option(f"The client id; {DEFAULT_HELP}.", "ID")] = None,
    ip: Annotated[str | None, Option(f"The IP address; {DEFAULT_HELP}.", "ADDRESS")] = None,
) -> Rows[QuotaChange]:
    """Delete quotas of an entity, and wait until no broker reports them."""
    entity = parse_entity(user, client_id, ip)
    existing = (await run.admin.describe_client_quotas(entity, strict=True)).get(entity, {})
    if missing := [key for key in keys if key not in existing]:
        present = f"it has {', '.join(existing)}" if existing else "it has none"
        raise NotFound(f"{entity} has no quota {missing[0]}: {present}")
    if not existing:
        raise NotFound(f"{entity} has no quotas")
    values: dict[str, float | None] = dict.fromkeys(keys or existing)
    if not run.dry_run:
        run.confirm(f"Delete {', '.join(f'{key}={existing[key]:.17g}' for key in values)} of {entity}?")
    outcomes = await run.admin.alter_client_quotas({entity: values}, validate_only=run.dry_run)
    if run.wait and not run.dry_run and not outcomes.errors:
        await run.admin.wait_until_client_quotas({entity: values}, timeout=run.wait, on_progress=run.on_progress)
    return quota_changes(entity, values, outcomes, "would be deleted" if run.dry_run else "deleted")
