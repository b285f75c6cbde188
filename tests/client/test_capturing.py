"""Everything is captured: responses, invalid responses, and failed polls."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from kwire.capture import Capture, CaptureWriteError, Row, replay
from kwire.client import Poller
from kwire.protocol import (
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    InvalidResponse,
    OversizedFrame,
    Timeout,
    WrongCorrelation,
)
from kwire.testing import FakeCluster, Misbehavior
from tests.client.polling import INTERVAL, SHORT_TIMEOUT, TIMEOUT, failed, succeeded, until, until_all
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire.client import Poll
    from kwire.declare import Message

ALL = {1, 2, 3}
FAULTS: dict[Misbehavior, type[ConnectionFault]] = {
    Misbehavior.GARBAGE: InvalidResponse,
    Misbehavior.NOT_KAFKA: OversizedFrame,
    Misbehavior.TRUNCATED_FRAME: ConnectionClosed,
    Misbehavior.STALL: Timeout,
    Misbehavior.OVERSIZED_FRAME: OversizedFrame,
    Misbehavior.WRONG_CORRELATION: WrongCorrelation,
    Misbehavior.NO_RESPONSE: Timeout,
    Misbehavior.WRONG_VERSION: InvalidResponse,
    Misbehavior.CLOSE: ConnectionClosed,
}


def timeout_of(misbehavior: Misbehavior) -> float:
    """Return a timeout of requests that only a broker that never responds exceeds."""
    return SHORT_TIMEOUT if FAULTS[misbehavior] is Timeout else TIMEOUT


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=12, partitions=3) as cluster:
        yield cluster


def poller(cluster: FakeCluster, capture: Capture, **options: Any) -> Poller[Any]:
    settings = {"interval": INTERVAL, "timeout": TIMEOUT, "longest_pause": 0.2, "capture": capture}
    return Poller(cluster.bootstrap, **{**settings, **options})


def tries_of(misbehavior: Misbehavior) -> int:
    """Return the requests of a failed poll: a lost or silent connection is opened again within the poll."""
    return 1 if issubclass(FAULTS[misbehavior], InvalidResponse) else 2


async def read_all(polling: Poller[Any]) -> list[Poll[Any]]:
    """End it, and read what was not read."""
    await polling.close()
    return [poll async for poll in polling]


def check(polls: list[Poll[Any]], rows: list[Row]) -> None:
    """Every poll is a row: in order for each broker, its answer or its error."""
    assert len(rows) == len(polls)
    for broker_id in {poll.broker_id for poll in polls}:
        of_broker = [poll for poll in polls if poll.broker_id == broker_id]
        kept = [row for row in rows if row.broker_id == broker_id]
        for poll, row in zip(of_broker, kept, strict=True):
            assert (row.polled_at, row.endpoint, row.api_key) == (poll.polled_at, poll.endpoint, poll.api_key)
            assert (row.duration_us, row.dialect) == (poll.duration_us, poll.dialect)
            if poll.payload is None:
                assert (row.kind, row.frame, row.error) == ("error", None, str(poll.error))
            else:
                assert row.error is None
                assert row.frame is not None
                assert row.controller_id == poll.controller_id
                if not poll.same or row is kept[0]:  # a broker's first is full, whoever said the same before
                    assert (row.kind, row.frame) == ("full", poll.payload)
                else:  # replayed with another correlation id, and in the order of the last full frame
                    assert (row.kind, len(row.frame)) == ("same", len(poll.payload))


async def test_unchanged_and_changed_responses_are_captured(cluster: FakeCluster, tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        async with poller(cluster, capture) as polling:
            polls = await until(polling, succeeded, 12)
            cluster.move_leader("topic-00000", 0, 2)
            cluster.shuffle_metadata()
            polls += await until(polling, succeeded, 12)
            polls = polls + await read_all(polling)
    check(polls, list(replay(tmp_path)))


@pytest.mark.parametrize("misbehavior", Misbehavior)
async def test_every_misbehavior_is_a_typed_error_and_is_captured(
    cluster: FakeCluster, tmp_path: Path, misbehavior: Misbehavior
) -> None:
    """Other brokers are still polled, and this broker over a new connection."""
    with Capture(tmp_path) as capture:
        async with poller(cluster, capture, timeout=timeout_of(misbehavior)) as polling:
            polls = await until_all(polling, ALL, succeeded)
            cluster.misbehave(2, misbehavior, times=tries_of(misbehavior))
            polls += await until(polling, failed)
            fault = polls[-1].error
            assert polls[-1].broker_id == 2
            assert type(fault) is FAULTS[misbehavior]
            assert (polls[-1].payload is not None) == isinstance(fault, InvalidResponse)
            polls += await until_all(polling, ALL, succeeded)
            assert all(not poll.events for poll in polls)
            polls = polls + await read_all(polling)
    check(polls, list(replay(tmp_path)))
    greetings = [seen for seen in cluster.requests(2) if seen.api_key == 18 and seen.client_id == "kwire-poller"]
    assert len(greetings) >= 4  # two for each connection: version 5, then 4


@pytest.mark.parametrize("misbehavior", Misbehavior)
async def test_next_broker_is_polled_after_a_misbehavior(
    cluster: FakeCluster, tmp_path: Path, misbehavior: Misbehavior
) -> None:
    with Capture(tmp_path) as capture:
        async with poller(cluster, capture, brokers="one", timeout=timeout_of(misbehavior)) as polling:
            polls = await until(polling, succeeded, 2)
            asked = polls[-1].broker_id
            cluster.misbehave(asked, misbehavior, times=tries_of(misbehavior))
            polls += await until(polling, failed)
            assert type(polls[-1].error) is FAULTS[misbehavior]
            polls += await until(polling, succeeded)
            assert polls[-1].endpoint != polls[-2].endpoint or misbehavior is Misbehavior.NO_RESPONSE
            polls = polls + await read_all(polling)
    check(polls, list(replay(tmp_path)))


async def test_failed_polls_are_captured(cluster: FakeCluster, tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        async with poller(cluster, capture) as polling:
            polls = await until_all(polling, ALL)
            cluster.stop_broker(3, fence=False)
            polls += await until(polling, failed, 4)
            polls = polls + await read_all(polling)
    assert isinstance([poll for poll in polls if failed(poll)][-1].error, ConnectFailed)
    check(polls, list(replay(tmp_path)))


async def test_polls_are_captured_without_a_reader(cluster: FakeCluster, tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        async with poller(cluster, capture, queue_size=1) as polling:
            running = asyncio.create_task(polling.run())
            await eventually(lambda: polling.statistics.polls > 20)
            running.cancel()
            await asyncio.wait([running])
        polls = polling.statistics.polls
    assert sum(1 for _ in replay(tmp_path)) == polls


async def test_run_ends_after_its_time(cluster: FakeCluster) -> None:
    async with Poller(cluster.bootstrap, interval=INTERVAL) as polling:
        await polling.run(0.1)


class SlowDisk(Capture):
    """Takes rows when it is let."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.let = threading.Event()

    def append(self, row: Row, message: Message | None = None) -> Row:
        self.let.wait()
        return super().append(row, message)


async def test_polling_continues_while_the_disk_is_busy(cluster: FakeCluster, tmp_path: Path) -> None:
    with SlowDisk(tmp_path) as capture:
        async with poller(cluster, capture) as polling:
            polls = await until(polling, succeeded, 20)
            capture.let.set()
            polls = polls + await read_all(polling)
    check(polls, list(replay(tmp_path)))


async def test_polling_waits_when_too_many_bytes_wait_for_the_disk(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwire.client.capture_thread.MAX_WAITING_BYTES", 10_000)

    with SlowDisk(tmp_path) as capture:
        async with poller(cluster, capture) as polling:
            await eventually(lambda: polling.statistics.bytes >= 10_000)
            await asyncio.sleep(0.5)
            assert polling.statistics.bytes < 20_000
            capture.let.set()
            polls = await until(polling, succeeded, 20)
            polls = polls + await read_all(polling)
    check(polls, list(replay(tmp_path)))


async def test_polls_are_captured_if_the_close_is_cancelled(cluster: FakeCluster, tmp_path: Path) -> None:
    polls: list[Poll[Any]] = []

    with SlowDisk(tmp_path) as capture:

        async def read() -> None:
            async with poller(cluster, capture) as polling:
                async for poll in polling:
                    polls.append(poll)  # noqa: PERF401  # one by one: it is cancelled

        reading = asyncio.create_task(read())
        await eventually(lambda: len(polls) >= 20)
        for _ in range(3):
            reading.cancel()
            await asyncio.sleep(0.05)
        waits = not reading.done()
        capture.let.set()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert waits
        assert capture.next_row >= len(polls)
    rows = list(replay(tmp_path))
    assert {(poll.broker_id, poll.polled_at) for poll in polls} <= {(row.broker_id, row.polled_at) for row in rows}


class FullDisk(SlowDisk):
    """Takes three rows, when it is let."""

    def append(self, row: Row, message: Message | None = None) -> Row:
        self.let.wait()
        if self.next_row == 3:
            raise CaptureWriteError(self.folder, 1, "No space left on device")
        return super().append(row, message)


async def test_error_of_the_capture_ends_the_polling(cluster: FakeCluster, tmp_path: Path) -> None:
    with FullDisk(tmp_path) as capture:
        capture.let.set()
        with pytest.raises(CaptureWriteError):
            async with poller(cluster, capture) as polling:
                await until(polling, failed)
    assert sum(1 for _ in replay(tmp_path)) == 3


async def test_error_of_the_capture_is_the_cause_of_a_cancelled_close(cluster: FakeCluster, tmp_path: Path) -> None:
    with FullDisk(tmp_path) as capture:
        polling = poller(cluster, capture)
        await polling.__aenter__()
        await eventually(lambda: polling.statistics.polls >= 4)
        closing = asyncio.create_task(polling.close())
        await asyncio.sleep(0)
        closing.cancel()
        capture.let.set()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await closing
        assert isinstance(cancelled.value.__cause__, CaptureWriteError)
        for close in (polling.close(), polling.__aexit__(None, None, None)):
            with pytest.raises(CaptureWriteError):
                await close
