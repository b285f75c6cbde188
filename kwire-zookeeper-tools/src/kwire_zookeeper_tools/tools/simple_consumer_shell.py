"""The tool `simple-consumer-shell`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from kwire._util.light_dataclasses import dataclass, field
from kwire.client.admin import AdminError, BrokerNotFound, OffsetSpec, TopicPartition
from kwire.client.record_fetcher import FetchedRecords, RecordFetcher
from kwire.errors import RecordsDecodeError
from kwire.protocol.errors import ConnectionFault
from kwire.records import batch_headers
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import InvalidArgument, Option
from kwire_zookeeper_tools.offsets.offset_times import offsets_of
from kwire_zookeeper_tools.records.record_text import decoder
from kwire_zookeeper_tools.tool_run import CLIENT_ID, ToolRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire.records import Record

FORMATTERS = ("DefaultMessageFormatter", "NoOpMessageFormatter")
"""The formatters of `kafka.tools` with an equivalent here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerOptions:
    """Options of the tool, with the names of Kafka 0.8."""

    topic: Annotated[str, Option("The topic.", "TOPIC")]
    partition: Annotated[int, Option("The partition.", "N")] = 0
    replica: Annotated[int, Option("The broker to read from; -1 for the leader.", "ID")] = -1
    offset: Annotated[int, Option("The first offset; -2 for the beginning of the log, -1 for its end.", "N")] = -2
    fetchsize: Annotated[int, Option("The most bytes of a request.", "BYTES")] = 1_048_576
    max_wait_ms: Annotated[int, Option("How long the broker waits for records.", "MS")] = 1000
    max_messages: Annotated[int, Option("How many records to print; -1 for all.", "N")] = -1
    print_offsets: Annotated[bool, Option("Print the offset after each record.")] = False
    print_keys: Annotated[bool, Option("Print the key of each record, and a tab.")] = False
    key_decoder_class: Annotated[str, Option("How keys are shown: String, Long, Integer, or hex.", "NAME")] = "String"
    value_decoder_class: Annotated[str, Option("How values are shown.", "NAME")] = "String"
    no_wait_at_logend: Annotated[bool, Option("End at the end of the log.")] = False
    skip_message_on_error: Annotated[bool, Option("Continue after records that cannot be read.")] = False
    client_id: Annotated[str, Option("The client id for the brokers.", "ID", also=("--clientId",))] = CLIENT_ID
    formatter: Annotated[
        str | None, Option("The form of records: DefaultMessageFormatter or NoOpMessageFormatter of Kafka.", "CLASS")
    ] = None
    property: Annotated[
        list[str], Option("A property of the form: print.key, key.separator, or line.separator.", "KEY=VALUE")
    ] = field(default_factory=list)


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS},
    replaces=("kafka.tools.SimpleConsumerShell",),
    time_limit=None,
    examples=("--broker-list localhost:9092 --topic orders --partition 0 --no-wait-at-logend",),
)
async def simple_consumer_shell(run: ToolRun, options: ConsumerOptions) -> None:
    """Print the values of records of one partition, from the leader or from one replica."""
    text_of = _form(options)
    admin = await run.admin(options.client_id)
    place = TopicPartition(options.topic, options.partition)
    next_offset = options.offset
    if next_offset < 0:
        next_offset = (await offsets_of(admin, [place], OffsetSpec(next_offset)))[place]
    size = options.fetchsize
    fetcher = RecordFetcher(admin, max_wait_ms=options.max_wait_ms, partition_max_bytes=size, max_bytes=size)
    printed = 0
    while printed != options.max_messages:
        fetched = await _fetch(fetcher, place, next_offset, options.replica)
        try:
            for record, after in _records(fetched, next_offset):
                next_offset = after
                if record is not None:
                    run.write(text_of(record))
                    if options.print_offsets:
                        run.print(f"next offset = {record.offset + 1}")
                    printed += 1
                if printed == options.max_messages:
                    return
        except RecordsDecodeError as error:
            if not options.skip_message_on_error or next_offset >= fetched.high_watermark:
                raise ToolFailed(
                    f"{place} at offset {next_offset}: {error}; records printed before: {printed}"
                ) from None
            next_offset = max(next_offset + 1, _end_of_batch(fetched.records, next_offset))
        if options.no_wait_at_logend and next_offset >= fetched.high_watermark:
            return


def _records(fetched: FetchedRecords, start: int) -> Iterator[tuple[Record | None, int]]:
    """Yield records from an offset on, each with the offset after it, and None with the offset after a batch."""
    for batch in fetched.batches():
        for record in () if batch.is_control else batch.records:
            if record.offset >= start:
                yield record, record.offset + 1
        yield None, max(start, batch.last_offset + 1)


def _form(options: ConsumerOptions) -> Callable[[Record], str]:
    """Return the function that decodes a record and returns its text, or raise InvalidArgument.

    The text is empty for the formatter that prints nothing.
    """
    name = (options.formatter or FORMATTERS[0]).rpartition(".")[2]
    if name not in FORMATTERS:
        raise InvalidArgument(f"--formatter {options.formatter}: expected {' or '.join(FORMATTERS)}")
    values = {"print.key": str(options.print_keys), "key.separator": "\t", "line.separator": "\n"}
    for text in options.property:
        key, equals, value = text.partition("=")
        if not equals or key not in values:
            raise InvalidArgument(f"--property {text}: expected KEY=VALUE with {', '.join(values)}")
        values[key] = value
    show_key, show_value = decoder(options.key_decoder_class), decoder(options.value_decoder_class)

    def text_of(record: Record) -> str:
        key = "null" if record.key is None else show_key(record.key)
        value = "null" if record.value is None else show_value(record.value)
        prefix = f"{key}{values['key.separator']}" if values["print.key"].lower() == "true" else ""
        return prefix + value + values["line.separator"] if name == FORMATTERS[0] else ""

    return text_of


async def _fetch(fetcher: RecordFetcher, place: TopicPartition, offset: int, replica: int) -> FetchedRecords:
    wanted = {place: offset}
    records = await (fetcher.fetch(wanted) if replica < 0 else fetcher.fetch_from(replica, wanted))
    fetched = records[place]
    if isinstance(fetched, ConnectionFault | BrokerNotFound):
        raise fetched
    if isinstance(fetched, AdminError):
        raise ToolFailed(f"offset {offset} of {fetched}")
    return fetched


def _end_of_batch(data: bytes, offset: int) -> int:
    """Return the offset after the batch with an offset; 0 if the headers cannot be read."""
    try:
        headers = batch_headers(data, check_crc=False)
    except RecordsDecodeError:
        return 0
    return next((header.last_offset + 1 for header in headers if header.last_offset >= offset), 0)
