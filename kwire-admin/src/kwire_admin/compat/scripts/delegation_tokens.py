"""`kafka-delegation-tokens`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kwire._util.readable import CYCLE_MS
from kwire._util.secret import Secret
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin import DelegationToken
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

NEEDED = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
"""The options that an action needs."""
FORBIDDEN = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("renew", "max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}
"""The options that an action does not have."""
COLUMNS = "{:<15} {:<30} {:<15} {:<15} {:<25} {:<15} {:<15} {:<15}"


async def run(run: ScriptRun) -> None:
    """Create, describe, renew, or expire delegation tokens (KIP-48).

    Raises:
        ScriptUsageError: the options do not fit together.
    """
    values = run.values
    action = values.one_action("--create, --renew, --expire or --describe")
    values.need("bootstrap-server", "command-config", *NEEDED[action])
    for option in FORBIDDEN[action]:
        values.forbid(option, action)
    for principal in _principals(values, "owner-principal") + _principals(values, "renewer-principal"):
        kind, _, name = principal.partition(":")
        if not kind or not name:
            raise ScriptUsageError(f"expected a string in format principalType:principalName but got {principal}")
    values.check_numbers()
    await ACTIONS[action](run, values)


async def _create(run: ScriptRun, values: OptionValues) -> None:
    owners, renewers = _principals(values, "owner-principal"), _principals(values, "renewer-principal")
    lifetime = values.number("max-life-time-period")
    run.print(f"Calling create token operation with renewers :{_listed(renewers)} , max-life-time-period :{lifetime}")
    token = await (await run.admin()).create_delegation_token(
        owner=owners[0] if owners else None, renewers=renewers, max_lifetime_ms=_or_default(lifetime)
    )
    run.print(f"Created delegation token with tokenId : {token.token_id}")
    _print_tokens(run, [token])


async def _renew(run: ScriptRun, values: OptionValues) -> None:
    period = values.number("renew-time-period")
    run.print(f"Calling renew token operation with hmac :{values.get('hmac')} , renew-time-period :{period}")
    expiry = await (await run.admin()).renew_delegation_token(_hmac(values), period_ms=_or_default(period))
    run.print(f"Completed renew operation. New expiry date : {_date(expiry)}")


async def _expire(run: ScriptRun, values: OptionValues) -> None:
    period = values.number("expiry-time-period")
    run.print(f"Calling expire token operation with hmac :{values.get('hmac')} , expire-time-period :{period}")
    expiry = await (await run.admin()).expire_delegation_token(_hmac(values), period_ms=_or_default(period))
    run.print(f"Completed expire operation. New expiry date : {_date(expiry)}")


async def _describe(run: ScriptRun, values: OptionValues) -> None:
    owners = _principals(values, "owner-principal")
    if owners:
        run.print(f"Calling describe token operation for owners: {_listed(owners)}")
    else:
        run.print("Calling describe token operation for current user.")
    tokens = await (await run.admin()).describe_delegation_tokens(owners or None)
    run.print(f"Total number of tokens : {len(tokens)}")
    _print_tokens(run, tokens)


ACTIONS = {"create": _create, "renew": _renew, "expire": _expire, "describe": _describe}


def _principals(values: OptionValues, option: str) -> list[str]:
    return [text.strip() for text in values.all(option)]


def _listed(principals: Iterable[str]) -> str:
    return f"[{', '.join(principals)}]"


def _or_default(period: int | None) -> int | None:
    """Return a period in milliseconds; None for -1, which means the default of the cluster."""
    return None if period == -1 else period


def _hmac(values: OptionValues) -> Secret:
    return Secret(values.get("hmac") or "")


def _date(milliseconds: int) -> str:
    """Return a time in the local time zone, as Kafka prints it: the year 33715 as well, which Python does not have."""
    cycles, rest = divmod(milliseconds, CYCLE_MS)
    time = datetime.fromtimestamp(rest / 1000).astimezone()
    return f"{time.year + 400 * cycles:04}-{time:%m-%dT%H:%M}"


def _print_tokens(run: ScriptRun, tokens: Iterable[DelegationToken]) -> None:
    """Print a table. Kafka's script prints an empty line before the titles and between tokens."""
    lines = [COLUMNS.format("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")]
    for token in tokens:
        times = (token.issue_timestamp_ms, token.expiry_timestamp_ms, token.max_timestamp_ms)
        values = (token.token_id, token.hmac.reveal(), token.owner, token.requester or "", _listed(token.renewers))
        lines.append(COLUMNS.format(*values, *map(_date, times)) + "\n")
    run.print(("\n" + "\n".join(lines)).removesuffix("\n"))


delegation_tokens = Script(
    "kafka-delegation-tokens",
    ("org.apache.kafka.tools.DelegationTokenCommand", "kafka.admin.DelegationTokenCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("create", "Create a new delegation token, with its renewers in --renewer-principal."),
        ScriptOption("describe", "Describe the tokens that the user owns or may describe."),
        ScriptOption("renew", "Renew a delegation token."),
        ScriptOption("expire", "Let a delegation token expire."),
        ScriptOption("owner-principal", "The owner of tokens, as principalType:name.", "principal", optional=True),
        ScriptOption("renewer-principal", "A renewer of the token, as principalType:name.", "principal", optional=True),
        ScriptOption("max-life-time-period", "Maximum life in ms; -1 for the default.", "ms", "Long", optional=True),
        ScriptOption("renew-time-period", "Time until expiry in ms; -1 for the default.", "ms", "Long", optional=True),
        ScriptOption("expiry-time-period", "Time until expiry in ms; -1 for now.", "ms", "Long", optional=True),
        ScriptOption("hmac", "HMAC of the delegation token.", "hmac", optional=True),
    ),
    run,
    "",
    fails_on_stdout=False,
    names_exceptions=True,
    banner="This tool helps to create, renew, expire, or describe delegation tokens.",
)
