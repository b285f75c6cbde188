"""`kafka-log-dirs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_admin.compat.options import ScriptOption
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptFailed

if TYPE_CHECKING:
    from collections.abc import Container

    from kwire.client.admin import LogDir
    from kwire_admin.compat.script import ScriptRun


async def run(run: ScriptRun) -> None:
    """Print the log directories of brokers as JSON.

    Raises:
        ScriptUsageError: `--describe` is missing.
        ScriptFailed: a broker is unknown.
    """
    values = run.values
    values.need("bootstrap-server", "describe")
    admin = await run.admin()
    live = {broker.id for broker in (await admin.describe_cluster()).brokers}
    listed = values.get("broker-list")
    try:
        brokers = {int(text) for text in (listed or "").split(",") if text} or live
    except ValueError as error:
        text = next(text for text in (listed or "").split(",") if text and not text.lstrip("+-").isdecimal())
        raise ScriptFailed(f'For input string: "{text}"') from error
    if unknown := brokers - live:
        raise ScriptFailed(
            f"ERROR: The given brokers do not exist from --broker-list: {_ids(unknown)}. Current existent brokers: "
            f"{_ids(live)}"
        )
    chosen = values.get("topic-list")
    topics = None if chosen is None else {text.strip() for text in chosen.split(",")}
    run.print("Querying brokers for log directories information")
    by_broker: dict[int, list[dict[str, Any]]] = {broker: [] for broker in sorted(brokers)}
    for log_dir in await admin.describe_log_dirs(sorted(brokers)):
        by_broker[log_dir.broker].append(_document(log_dir, topics))
    run.print(f"Received log directory information from brokers {_ids(brokers)}")
    document = {"brokers": [{"broker": id, "logDirs": dirs} for id, dirs in by_broker.items()], "version": 1}
    run.print(json.dumps(document, separators=(",", ":")))


def _document(log_dir: LogDir, topics: Container[str] | None) -> dict[str, Any]:
    return {
        "partitions": [
            {
                "partition": f"{replica.topic}-{replica.partition}",
                "size": replica.size,
                "offsetLag": replica.lag,
                "isFuture": replica.is_future,
            }
            for replica in log_dir.replicas
            if topics is None or replica.topic in topics
        ],
        "error": None if log_dir.error is None else log_dir.error.text,
        "logDir": log_dir.path,
    }


def _ids(brokers: set[int]) -> str:
    return ",".join(map(str, sorted(brokers)))


log_dirs = Script(
    "kafka-log-dirs",
    ("org.apache.kafka.tools.LogDirsCommand", "kafka.admin.LogDirsCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("describe", "Describe the specified log directories on the specified brokers."),
        ScriptOption("topic-list", "The topics, separated by commas.", "Topic list"),
        ScriptOption("broker-list", 'The list of brokers to be queried in the form "0,1,2".', "Broker list"),
    ),
    run,
)
