"""`kafka brokers api-versions`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.visibility import warn_of_unanswered

if TYPE_CHECKING:
    from kwire.protocol.negotiated_versions import Dialect


@dataclass(frozen=True, slots=True)
class ServedApi:
    """An API of a broker.

    Attributes:
        broker: the id of the broker.
        key: the API key.
        api: the name of the API; None if kwire does not know it.
        lowest: the lowest version that the broker serves.
        highest: the highest version that the broker serves.
        used: the version that kwire uses; None if they have none in common.
    """

    broker: int
    key: int
    api: str | None
    lowest: int
    highest: int
    used: int | None


@operation(
    nothing="All brokers serve the same versions.",
    examples=("brokers api-versions", "brokers api-versions 1", "brokers api-versions --different"),
)
async def api_versions(
    run: Run,
    brokers: Annotated[
        list[int], Argument("Ids of brokers [default: all live ones].", "ID", "brokers", minimum=0, maximum=2**31 - 1)
    ],
    different: Annotated[bool, Option("Only APIs that these brokers do not serve in the same versions.")] = False,
) -> Rows[ServedApi]:
    """Show the versions of each API that brokers serve, and the version that kwire uses."""
    unanswered: dict[int, Exception] = {}
    served = await run.admin.describe_api_versions(brokers, unanswered=unanswered)
    warn_of_unanswered(run, "API versions", unanswered)
    names, supported = known_apis(run.admin.dialect)
    rows: Rows[ServedApi] = []
    for key in sorted({key for ranges in served.values() for key in ranges}):
        if different and len({ranges.get(key) for ranges in served.values()}) == 1:
            continue
        for broker, ranges in sorted(served.items()):
            if key in ranges:
                lowest, highest = ranges[key]
                common = supported.get(key, set()).intersection(range(lowest, highest + 1))
                rows.append(ServedApi(broker, key, names.get(key), lowest, highest, max(common, default=None)))
    return rows


def known_apis(dialect: Dialect) -> tuple[dict[int, str], dict[int, set[int]]]:
    """Return the names and the versions of the APIs that kwire knows, by API key."""
    from kwire.messages import every  # imports the classes of all messages

    names: dict[int, str] = {}
    supported: dict[int, set[int]] = {}
    for message in every(dialect):
        if message.api_key >= 0 and message.__kwire_response__ is not None:
            name = message.__name__.partition("_")[0].removesuffix("Request")
            names.setdefault(message.api_key, name)  # the newest name comes first
            versions = range(message.versions.lowest, message.versions.highest + 1)
            supported.setdefault(message.api_key, set()).update(versions)
    return names, supported
