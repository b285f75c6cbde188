"""`kafka-broker-api-versions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script

if TYPE_CHECKING:
    from kwire_admin.compat.script import ScriptRun

NOT_FOR_CLIENTS = frozenset({4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82})
"""Keys of APIs that only brokers and controllers call. Kafka's tool leaves them out if a broker does not serve them."""


async def run(run: ScriptRun) -> None:
    """Print the APIs of each broker with the versions that it serves."""
    run.values.need("bootstrap-server")
    await print_api_versions(run)


async def print_api_versions(run: ScriptRun) -> None:
    """Print a block for each broker, as `NodeApiVersions` of Kafka 4.4 does."""
    from kwire_admin.operations.verbs.brokers import known_apis

    admin = await run.admin()
    served = await admin.describe_api_versions()
    names, supported = known_apis(admin.dialect)
    for broker in sorted((await admin.describe_cluster()).brokers):
        ranges = served.get(broker.id)
        if ranges is None:
            continue  # it has started since
        rack = "null" if broker.rack is None else broker.rack
        run.print(f"{broker.host}:{broker.port} (id: {broker.id} rack: {rack} isFenced: false) -> (")
        keys = sorted(ranges.keys() | (names.keys() - NOT_FOR_CLIENTS))
        lines = [
            f"\t{names.get(key, 'UNKNOWN')}({key}): {_versions(ranges.get(key), supported.get(key, set()))}"
            for key in keys
        ]
        run.print(",\n".join(lines))
        run.print(")")


def _versions(served: tuple[int, int] | None, supported: set[int]) -> str:
    """Return the versions of an API that a broker serves, and the highest version that can be used."""
    if served is None:
        return "UNSUPPORTED"
    lowest, highest = served
    text = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
    if not supported:
        return text
    common = supported.intersection(range(lowest, highest + 1))
    if common:
        return f"{text} [usable: {max(common)}]"
    return f"{text} [unusable: node too {'old' if highest < min(supported) else 'new'}]"


broker_api_versions = Script(
    "kafka-broker-api-versions",
    ("org.apache.kafka.tools.BrokerApiVersionsCommand", "kafka.admin.BrokerApiVersionsCommand"),
    (BOOTSTRAP, COMMAND_CONFIG),
    run,
    "",
    fails_on_stdout=False,
    banner="This tool helps to retrieve broker version information.",
)
