"""`kafka-cluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.compat.commands import choose_command, need_arguments, read_number
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import COMMAND_CONFIG, Script
from kwire_admin.compat.scripts.broker_api_versions import print_api_versions

if TYPE_CHECKING:
    from kwire_admin.compat.script import ScriptRun

NAME = "kafka-cluster"


async def run(run: ScriptRun) -> None:
    """Print the id, the brokers, or the APIs of a cluster, or remove the registration of a node.

    Raises:
        ScriptUsageError: the command is unknown or missing, or an option is.
    """
    command = choose_command(NAME, run.values, COMMANDS)
    if command in (_unregister, _unregister_controller):
        need_arguments(NAME, run.values, "--id/-i")
        read_number(NAME, run.values, "--id/-i")
    if "bootstrap-server" not in run.values:
        raise ScriptUsageError(
            f"{NAME}: error: one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required"
        )
    if "config" in run.values:
        run.print(
            "Option --config has been deprecated and will be removed in a future version. Use --command-config instead."
        )
    await command(run)


async def _cluster_id(run: ScriptRun) -> None:
    cluster_id = (await (await run.admin()).describe_cluster()).cluster_id
    if cluster_id is None:
        run.print("No cluster ID found. The Kafka version is probably too old.")
    else:
        run.print(f"Cluster ID: {cluster_id}")


async def _unregister(run: ScriptRun) -> None:
    id = run.values.number("id") or 0
    await (await run.admin()).unregister_broker(id)
    run.print(f"Broker {id} is no longer registered.")


async def _unregister_controller(run: ScriptRun) -> None:
    id = run.values.number("id") or 0
    await (await run.admin()).unregister_controller(id)
    run.print(f"Controller {id} is no longer registered.")


async def _list_endpoints(run: ScriptRun) -> None:
    admin = await run.admin()
    rows = [
        (broker.id, broker.host, broker.port, broker.rack, False) for broker in (await admin.describe_cluster()).brokers
    ]
    if "include-fenced-brokers" in run.values:
        registered = await admin.registered_brokers() or {}
        rows = [
            (id, broker.host, broker.port, broker.rack, broker.is_fenced) for id, broker in registered.items()
        ] or rows
    rows.sort()
    width = max(len(host) for _, host, *_ in rows)
    line = f"{{:<10}} {{:<{width}}} {{:<10}} {{:<10}} {{:<10}} {{:<15}}"
    run.print(line.format("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"))
    for id, host, port, rack, is_fenced in rows:
        state = "fenced" if is_fenced else "unfenced"
        run.print(line.format(id, host, port, "null" if rack is None else rack, state, "broker"))


COMMANDS = {
    "cluster-id": _cluster_id,
    "unregister": _unregister,
    "unregister-controller": _unregister_controller,
    "list-endpoints": _list_endpoints,
    "api-versions": print_api_versions,
}

cluster = Script(
    NAME,
    ("org.apache.kafka.tools.ClusterTool", "kafka.tools.ClusterTool"),
    (
        ScriptOption("bootstrap-server", "Some servers of the cluster.", "BOOTSTRAP_SERVER", short="b"),
        ScriptOption("command-config", "Config properties file for the Admin client.", "COMMAND_CONFIG", short="c"),
        ScriptOption("config", "DEPRECATED, use --command-config instead.", "CONFIG", same_as=COMMAND_CONFIG.name),
        ScriptOption("id", "The ID of the broker or controller to unregister.", "ID", "Integer", short="i"),
        ScriptOption("include-fenced-brokers", "Include fenced brokers when listing broker endpoints."),
    ),
    run,
    "",
    fails_on_stdout=False,
    names_exceptions=True,
    program=NAME,
)
