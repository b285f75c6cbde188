"""`kafka-transactions`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, ProducerDescription, TopicPartition
from kwire.errors import KwireError
from kwire_admin.compat.commands import choose_command, need_arguments, read_number
from kwire_admin.compat.group_options import warn_of_missing
from kwire_admin.compat.options import ScriptOption
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, NoReturn

    from kwire.client.admin import AdminClient
    from kwire_admin.compat.script import ScriptRun

NAME = "kafka-transactions.sh"
PRODUCERS = (
    *("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp"),
    "CurrentTransactionStartOffset",
)
DESCRIPTION = (
    *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs"),
    *("CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"),
)
HANGING = (
    *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp"),
    "Duration(min)",
)
NEEDED = {
    "describe": ("--transactional-id",),
    "describe-producers": ("--topic", "--partition"),
    "abort": ("--topic", "--partition"),
    "forceTerminateTransaction": ("--transactionalId",),
}
"""The options that a command needs."""


async def run(run: ScriptRun) -> None:
    """List, describe, or end transactions, or find hanging ones (KIP-664).

    Raises:
        ScriptUsageError: the command is unknown or missing, or an option is.
        ScriptFailed: the options do not fit together, or the cluster refused a request.
    """
    need_arguments(NAME, run.values, "--bootstrap-server")
    command = choose_command(NAME, run.values, COMMANDS)
    need_arguments(NAME, run.values, *NEEDED.get(run.values.words[0], ()))
    for option in transactions.options:
        if option.kind != "String":
            read_number(NAME, run.values, f"--{option.name}", option.kind)
    await command(run, await run.admin())


async def _list(run: ScriptRun, admin: AdminClient) -> None:
    try:
        listed = await admin.list_transactions(
            running_longer_ms=run.values.number("duration-filter"),
            id_pattern=run.values.get("transactional-id-pattern"),
        )
    except KwireError as error:
        _fail("Failed to list transactions", error)
    await warn_of_missing(run, admin, "transactional ids")
    rows = [("TransactionalId", "Coordinator", "ProducerId", "TransactionState")]
    rows += [
        (listing.transactional_id, str(listing.coordinator), str(listing.producer_id), listing.state)
        for listing in listed
    ]
    run.print_columns(rows)


async def _describe(run: ScriptRun, admin: AdminClient) -> None:
    from kwire.client.admin.coordinators import KeyType

    name = run.values.get("transactional-id") or ""
    described = (await admin.describe_transactions([name]))[name]
    if isinstance(described, AdminError):
        failure = f"Failed to describe transaction state of transactional-id `{name}`"
        if described.name == "TRANSACTIONAL_ID_NOT_FOUND":
            request = f"DescribeTransactions request for transactionalId `{name}`"
            raise ScriptFailed(_with_hint(f"{failure}: {request} failed because the ID could not be found"))
        _fail(failure, described)
    started = described.started_ms
    row = (
        admin.router.metadata.coordinator(KeyType.TRANSACTION, name),
        name,
        described.producer_id,
        described.producer_epoch,
        described.state,
        described.timeout_ms,
        "None" if started is None else started,
        "None" if started is None else int(time.time() * 1000) - started,
        ",".join(map(str, described.partitions)),
    )
    run.print_columns([DESCRIPTION, row])


async def _describe_producers(run: ScriptRun, admin: AdminClient) -> None:
    broker = run.values.number("broker-id")
    partition = _partition(run)
    where = "leader" if broker is None else f"broker {broker}"
    producers = await _producers(
        admin, partition, broker, f"Failed to describe producers for partition {partition} on {where}"
    )
    rows: list[tuple[object, ...]] = [PRODUCERS]
    for producer in producers:
        start = producer.transaction_start_offset
        numbers = (producer.coordinator_epoch, producer.last_sequence, producer.last_timestamp_ms)
        start_text = "None" if start is None else start
        rows.append((producer.producer_id, producer.producer_epoch, *map(_or_minus_one, numbers), start_text))
    run.print_columns(rows)


async def _abort(run: ScriptRun, admin: AdminClient) -> None:
    """End an open transaction of a partition, also one that is alive, as Kafka's script does."""
    values, partition = run.values, _partition(run)
    start, producer_id = values.number("start-offset"), values.number("producer-id")
    if start is not None:
        producers = await _producers(
            admin, partition, None, f"Failed to validate producer state for partition {partition}"
        )
        producer = next((active for active in producers if active.transaction_start_offset == start), None)
        if producer is None:
            raise ScriptFailed(
                f"Could not find any open transactions starting at offset {start} on partition {partition}"
            )
    elif producer_id is None:
        raise ScriptFailed(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    else:
        epoch, coordinator_epoch = values.number("producer-epoch"), values.number("coordinator-epoch")
        if epoch is None or coordinator_epoch is None:
            missing = "producer" if epoch is None else "coordinator"
            raise ScriptFailed(f"Missing required argument --{missing}-epoch")
        # A producer without a marker on the partition is reported with the epoch -1; 0 is accepted for it.
        producer = ProducerDescription(producer_id, epoch, None, None, None, max(coordinator_epoch, 0))
    try:
        await admin.abort_transaction(partition, producer)
    except KwireError as error:
        _fail(f"Failed to abort transaction of producer {producer.producer_id} on {partition}", error)


async def _find_hanging(run: ScriptRun, admin: AdminClient) -> None:
    values = run.values
    topic, broker, index = values.get("topic"), values.number("broker-id"), values.number("partition")
    if topic is None and broker is None:
        raise ScriptFailed(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if index is not None and topic is None:
        raise ScriptFailed("The --partition argument requires --topic to be provided")
    partitions = [_partition(run)] if index is not None else await _partitions(admin, topic, broker)
    minutes = values.number("max-transaction-timeout")
    older_than_ms = (15 if minutes is None else minutes) * 60_000
    rows: list[tuple[object, ...]] = [HANGING]
    for partition, producer, _ in await admin.find_hanging_transactions(partitions, older_than_ms=older_than_ms):
        written = _or_minus_one(producer.last_timestamp_ms)
        rows.append(
            (
                *partition,
                producer.producer_id,
                producer.producer_epoch,
                _or_minus_one(producer.coordinator_epoch),
                _or_minus_one(producer.transaction_start_offset),
                written,
                (int(time.time() * 1000) - written) // 60_000,
            )
        )
    run.print_columns(rows)


async def _terminate(run: ScriptRun, admin: AdminClient) -> None:
    name = run.values.get("transactionalId") or ""
    error = (await admin.terminate_transactions([name]))[name]
    if error is not None:
        _fail(f"Failed to force terminate transactionalId `{name}`", error)


async def _partitions(admin: AdminClient, topic: str | None, broker: int | None) -> list[TopicPartition]:
    """Return the partitions of a topic, or of all topics, that have a replica on a broker."""
    partitions: list[TopicPartition] = []
    for name, described in (await admin.describe_topics([topic] if topic is not None else ())).items():
        if isinstance(described, AdminError):
            _fail("Failed to describe 1 topics", described)
        partitions += [
            TopicPartition(name, partition.partition)
            for partition in described.partitions
            if broker is None or broker in partition.replicas
        ]
    return partitions


async def _producers(
    admin: AdminClient, partition: TopicPartition, broker: int | None, failure: str
) -> tuple[ProducerDescription, ...]:
    try:
        producers = (await admin.describe_producers([partition], broker_id=broker))[partition]
    except KwireError as error:
        _fail(failure, error)
    if isinstance(producers, AdminError):
        _fail(failure, producers)
    return producers


def _partition(run: ScriptRun) -> TopicPartition:
    return TopicPartition(run.values.get("topic") or "", run.values.number("partition") or 0)


def _or_minus_one(number: int | None) -> int:
    return -1 if number is None else number


def _fail(failure: str, error: KwireError) -> NoReturn:
    raise ScriptFailed(_with_hint(f"{failure}: {getattr(error, 'text', None) or error}")) from None


def _with_hint(text: str) -> str:
    return f"{text}. Enable debug logging for additional detail."


COMMANDS: dict[str, Callable[[ScriptRun, AdminClient], Coroutine[Any, Any, None]]] = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
    "forceTerminateTransaction": _terminate,
}

transactions = Script(
    "kafka-transactions",
    ("org.apache.kafka.tools.TransactionsCommand", "kafka.admin.TransactionsCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("duration-filter", "list: Only transactions that run longer than this.", "ms", "Long"),
        ScriptOption("transactional-id-pattern", "list: Only ids that match this regular expression.", "pattern"),
        ScriptOption("transactional-id", "describe: The transactional id.", "id"),
        ScriptOption("transactionalId", "forceTerminateTransaction: The transactional id.", "id"),
        ScriptOption("topic", "The topic.", "topic name"),
        ScriptOption("partition", "The number of the partition.", "partition", "Integer"),
        ScriptOption("broker-id", "The broker whose replicas report their producers.", "id", "Integer"),
        ScriptOption("start-offset", "abort: Where the transaction starts.", "offset", "Long"),
        ScriptOption("producer-id", "abort: The producer id, for brokers before 3.0.", "id", "Long"),
        ScriptOption("producer-epoch", "abort: The producer epoch, for brokers before 3.0.", "epoch", "Short"),
        ScriptOption("coordinator-epoch", "abort: The coordinator epoch, for brokers before 3.0.", "epoch", "Integer"),
        ScriptOption(
            "max-transaction-timeout", "find-hanging: Minimum age in minutes (default: 15).", "minutes", "Integer"
        ),
    ),
    run,
    "",
    fails_on_stdout=False,
    program=NAME,
)
