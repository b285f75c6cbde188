"""`kafka quotas set`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.argument_checks import Choice
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.quota_entities import (
    DEFAULT_HELP,
    QUOTA,
    QuotaChange,
    parse_entity,
    parse_values,
    quota_changes,
)


@operation(
    Danger.CHANGES,
    waits=True,
    choices=(Choice(("user", "client_id", "ip"), most=None),),
    dialects=("kafka",),
    examples=(
        "quotas set producer_byte_rate=1000000 consumer_byte_rate=2000000 --user alice",
        "quotas set request_percentage=50 --user alice --client-id '<default>'",
        "quotas set connection_creation_rate=10 --ip 192.0.2.7",
    ),
)
async def set_(
    run: Run,
    quotas: Annotated[
        list[str], Argument("Quotas, such as producer_byte_rate=1000000.", "KEY=VALUE", syntax=QUOTA, item="quota")
    ],
    user: Annotated[str | None, Option(f"The user; {DEFAULT_HELP}.", "NAME", "users")] = None,
    client_id: Annotated[str | None, Option(f"The client id; {DEFAULT_HELP}.", "ID")] = None,
    ip: Annotated[str | None, Option(f"The IP address; {DEFAULT_HELP}.", "ADDRESS")] = None,
) -> Rows[QuotaChange]:
    """Set quotas of an entity, and wait until every broker reports them."""
    entity = parse_entity(user, client_id, ip)
    values: dict[str, float | None] = {**parse_values(quotas)}
    outcomes = await run.admin.alter_client_quotas({entity: values}, validate_only=run.dry_run)
    if run.wait and not run.dry_run and not outcomes.errors:
        await run.admin.wait_until_client_quotas({entity: values}, timeout=run.wait, on_progress=run.on_progress)
    return quota_changes(entity, values, outcomes, "would be set" if run.dry_run else "set")
