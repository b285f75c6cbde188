"""A process that calls one function of the codec with less and less memory: `python short_of_memory.py FUNCTION`.

Each attempt is a fork with its own limit of addresses (`RLIMIT_AS`), so that memory of earlier ones does not help. The
limits grow until the call succeeds, and are then bisected, because the last allocations fail just below what is enough.
Prints the number of attempts that ran out of memory, and every outcome other than success and MemoryError.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kwire
from kwire import frame, records
from kwire.messages.kafka import MetadataResponse, ProduceRequest, metadata, produce

OK, OUT_OF_MEMORY, OTHER = 0, 1, 2
PAGE = resource.getpagesize()
FIRST = 64 << 10
"""The smallest limit in bytes beyond what the process uses."""
BISECTIONS = 6

Prepared = Callable[[], object]


def metadata_response(topics: int, partition_count: int = 20) -> MetadataResponse:
    """Return a response in which no two topics have equal partitions: decoding would share them."""

    def partitions(topic: int) -> tuple[metadata.MetadataResponsePartition, ...]:
        return tuple(
            metadata.MetadataResponsePartition(
                error_code=0, partition_index=index, leader_id=topic, replica_nodes=(1, 2), isr_nodes=(index,)
            )
            for index in range(partition_count)
        )

    return MetadataResponse(
        brokers=(),
        topics=tuple(
            metadata.MetadataResponseTopic(error_code=0, name=f"topic-{index:06}", partitions=partitions(index))
            for index in range(topics)
        ),
    )


def changed(response: MetadataResponse) -> MetadataResponse:
    """Return a response with the topics reversed and other leaders, so that an incremental decoder searches."""
    topics = tuple(
        topic.__replace__(partitions=tuple(p.__replace__(leader_id=7) for p in topic.partitions))  # type: ignore[attr-defined]  # since 3.13
        for topic in reversed(response.topics or ())
    )
    return response.__replace__(topics=topics)  # type: ignore[attr-defined, no-any-return]  # since 3.13


PRODUCE = ProduceRequest(
    acks=1,
    timeout_ms=1,
    topic_data=(
        produce.TopicProduceData(
            name="t", partition_data=(produce.PartitionProduceData(index=0, records=bytes(8 << 20)),)
        ),
    ),
)
TOPICS = 1_000
MANY_TOPICS = 20_000
"""Enough topics that their objects take more than the reserve of the allocator, which a call may use up."""
NAMES = 300_000
"""Topics without partitions, enough that the index of a view is large."""
VERSION = 12


def made_elsewhere(make: Callable[[], bytes]) -> bytes:
    """Return bytes that another process makes, so that this one has no memory to reuse."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as file:
            file.write(make())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    os.wait()
    return data


def with_body(
    call: Callable[[bytes], object], topics: int = MANY_TOPICS, partition_count: int = 20
) -> Callable[[], Prepared]:
    """Return a call with an encoded response. The message itself is freed."""

    def prepare() -> Prepared:
        body = made_elsewhere(lambda: kwire.encode(metadata_response(topics, partition_count), version=VERSION))
        return lambda: call(body)

    return prepare


def with_message(call: Callable[[MetadataResponse], object], topics: int = TOPICS * 2) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        message = metadata_response(topics)
        return lambda: call(message)

    return prepare


def decoder() -> Prepared:
    body = made_elsewhere(lambda: kwire.encode(metadata_response(2 * MANY_TOPICS), version=VERSION))
    next_body = made_elsewhere(lambda: kwire.encode(changed(metadata_response(2 * MANY_TOPICS)), version=VERSION))
    incremental = kwire.Decoder(MetadataResponse, version=VERSION)
    incremental.decode(body)

    def decode_next() -> object:
        incremental.decode(next_body)
        return incremental.changed

    return decode_next


def found_in_a_view() -> Prepared:
    body = made_elsewhere(lambda: kwire.encode(metadata_response(NAMES, 0), version=VERSION))
    view = kwire.view(MetadataResponse, body, version=VERSION)
    return lambda: kwire.find(view.topics, name="topic-000007")


def cached_responses() -> Prepared:
    from kwire._kwire import ResponseCache

    cache = ResponseCache()

    def fill() -> object:
        for index in range(40):
            if not cache.insert(bytes(8) + b"%d" % index, bytes(1 << 18), None):
                raise MemoryError
        return len(cache)

    return fill


def values(count: int) -> list[Any]:
    return [(index, index, b"k%d" % index, b"v" * 300, (("header", b"value"),)) for index in range(count)]


def with_records(call: Callable[[list[Any]], object], count: int = 150_000) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        of_batch = values(count)
        return lambda: call(of_batch)

    return prepare


def encode_with(compression: Any) -> Callable[[list[Any]], object]:
    return lambda of_batch: records.encode(of_batch, compression=compression)


def with_encoded(compression: Any, call: Callable[[bytes], object]) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        data = made_elsewhere(lambda: records.encode(values(60_000), compression=compression))
        return lambda: call(data)

    return prepare


def columns_of(topics: int, frames: int, **options: Any) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        data = [kwire.encode(metadata_response(topics), version=VERSION)] * frames
        return lambda: kwire.columns(MetadataResponse, data, version=VERSION, **options)

    return prepare


def columns_of_bad_frames() -> Prepared:
    data = [kwire.encode(metadata_response(2), version=VERSION)[:-1], None, b""] * 20_000
    return lambda: kwire.columns(MetadataResponse, data, version=VERSION)


def from_json() -> Prepared:
    form = kwire.to_json(metadata_response(TOPICS), version=VERSION)
    return lambda: kwire.from_json(MetadataResponse, form, version=VERSION)


COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
CALLS: dict[str, Callable[[], Prepared]] = {
    "decode": with_body(lambda body: kwire.decode(MetadataResponse, body, version=VERSION)),
    "validate": with_body(lambda body: kwire.validate(MetadataResponse, bytearray(body), version=VERSION)),
    "view": with_body(lambda body: kwire.view(MetadataResponse, body, version=VERSION), NAMES, 0),
    "decode_response": with_body(
        lambda body: frame.decode_response(bytes(5) + body, MetadataResponse, version=VERSION)
    ),
    "encode": with_message(lambda message: kwire.encode(message, version=VERSION)),
    "encode_bytes": lambda: lambda: kwire.encode(PRODUCE, version=9),
    "encode_response": with_message(lambda message: frame.encode_response(message, version=VERSION, correlation_id=1)),
    "to_json": with_message(lambda message: kwire.to_json(message, version=VERSION), TOPICS),
    "from_json": from_json,
    "find": found_in_a_view,
    "Decoder": decoder,
    "ResponseCache": cached_responses,
    "columns": columns_of(20, 300),
    "columns_of_topics": columns_of(20, 1_000, rows="topics"),
    "columns_of_messages": columns_of(20, 1_000, rows=""),
    "columns_of_many_names": columns_of(2_000, 1),
    "columns_of_bad_frames": columns_of_bad_frames,
    **{f"records.encode {name}": with_records(encode_with(name)) for name in COMPRESSIONS},
    **{f"records.decode {name}": with_encoded(name, records.decode) for name in COMPRESSIONS},
    "records.batches": with_encoded("zstd", lambda data: list(records.batches(data * 3))),
    "records.batch_headers": with_records(lambda of_batch: records.batch_headers(records.encode(of_batch) * 20_000), 1),
    "records.columns none": with_encoded("none", lambda data: records.columns([data] * 4)),
    "records.columns zstd": with_encoded("zstd", lambda data: records.columns([data] * 4 + [b"\0" * 61, None] * 2_000)),
}


def warm_up() -> None:
    """Compile plans and import modules with little data, so that a call itself needs memory."""
    message = metadata_response(1)
    body = kwire.encode(message, version=VERSION)
    kwire.decode(MetadataResponse, body, version=VERSION)
    view = kwire.view(MetadataResponse, body, version=VERSION)
    kwire.find(view.topics, name="")
    kwire.from_json(MetadataResponse, kwire.to_json(message, version=VERSION), version=VERSION)
    kwire.Decoder(MetadataResponse, version=VERSION).decode(body)
    for rows in ("topics", "", "topics.partitions"):
        kwire.columns(MetadataResponse, [body, b""], version=VERSION, rows=rows)
    kwire.encode(PRODUCE.__replace__(topic_data=()), version=9)  # type: ignore[attr-defined]  # since 3.13
    data = records.encode([(0, 0, None, None)])
    records.decode(data)
    records.columns([data])
    frame.decode_response(
        frame.encode_response(message, version=VERSION, correlation_id=1)[4:], MetadataResponse, version=VERSION
    )


def used() -> int:
    """Return the addresses that this process uses, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * PAGE


def attempt(call: Prepared, limit: int) -> tuple[int, str]:
    """Call a function with `limit` bytes beyond what is used. Returns the outcome, and its description if it is bad."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 2)
        outcome = OTHER
        try:
            resource.setrlimit(resource.RLIMIT_AS, (used() + limit,) * 2)
            call()
            outcome = OK
        except MemoryError:
            outcome = OUT_OF_MEMORY
        except BaseException as error:  # noqa: BLE001  # PanicException derives from it
            os.write(2, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(outcome)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return OTHER, f"{signal.Signals(os.WTERMSIG(status)).name}: {text}"
    return os.WEXITSTATUS(status), text


def main(name: str) -> None:
    warm_up()
    call = CALLS[name]()
    failed, bad = 0, []

    def is_enough(limit: int) -> bool:
        nonlocal failed
        outcome, text = attempt(call, limit)
        if outcome == OTHER:
            bad.append(f"with {limit} bytes: {text.strip()[-300:]}")
        failed += outcome == OUT_OF_MEMORY
        return outcome == OK

    low, high = 0, FIRST
    while not is_enough(high):
        low, high = high, high * 2
    for _ in range(BISECTIONS):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    sys.stdout.write("\n".join([str(failed), *bad]))


if __name__ == "__main__":
    main(sys.argv[1])
