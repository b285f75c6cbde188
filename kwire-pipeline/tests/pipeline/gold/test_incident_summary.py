"""Diagnoses hour by hour, which continue from summaries, give the incidents of one diagnosis of all signals."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kwire_pipeline.gold.diagnosis import IncidentKind, Signal, SignalKind, diagnose
from kwire_pipeline.gold.incidents import SUMMARY, TABLE, DiagnosisTask, row_of
from kwire_pipeline.gold.transitions import FILED_AT
from kwire_pipeline.tables import ddl_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = 1_000_000
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
FIRST, HOURS = 490_000 * HOUR, 30
BROKERS = (1, 2, 3)
CLUSTER = "c"

Rows = list[dict[str, Any]]


class History:
    """Signals of a cluster in which brokers lag behind and fail, and in which conditions begin and end."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.out_of_sync: dict[int, set[int]] = {broker: set() for broker in BROKERS}
        self.lasting: set[tuple[str, int]] = set()
        self.returns: dict[int, int] = {}
        """The times at which brokers that are down return."""

    def signals(self) -> Iterator[Signal]:
        """Yield the signals hour by hour."""
        for hour in range(FIRST, FIRST + HOURS * HOUR, HOUR):
            end = str(hour + HOUR - 1)
            yield Signal(SignalKind.POLL_INTERVAL, hour, None, detail={"interval_us": str(30 * SECOND), "end": end})
            for broker in BROKERS:
                yield Signal(SignalKind.FIRST_RESPONSE, hour + broker, None, broker, broker)
            # Brokers fail and return in the first minutes of an hour, before other events, so each partition is
            # reported in sync and out of sync in turn.
            if self.random.random() < 0.15:
                yield from self._outage(hour + 2 * MINUTE)
            for broker, back in sorted(self.returns.items()):
                if back < hour + HOUR:
                    yield from self._return(broker)
            for minute in sorted(self.random.sample(range(15, 60), self.random.randrange(6))):
                event = self.random.choice([self._lag, self._lag, self._lag, self._condition, self._condition])
                yield from event(hour + minute * MINUTE + self.random.randrange(50) * SECOND)

    def _lag(self, at: int) -> Iterator[Signal]:
        broker = self.random.choice([broker for broker in BROKERS if broker not in self.returns])
        lagging = sorted(self.out_of_sync[broker])
        if lagging and self.random.random() < 0.5:
            healed = self.random.sample(lagging, self.random.randint(1, len(lagging)))
            yield from self.in_sync(broker, at, healed)
        else:
            yield from self.lags(broker, at, self.random.sample(range(9), 2))

    def lags(self, broker: int, at: int, partitions: list[int]) -> Iterator[Signal]:
        """Yield signals that partitions fell out of sync."""
        new = sorted(set(partitions) - self.out_of_sync[broker])
        if new:
            self.out_of_sync[broker].update(new)
            for kind in (SignalKind.OUT_OF_SYNC, SignalKind.ISR_LEFT):
                yield self._of_partitions(kind, broker, at, new)

    def in_sync(self, broker: int, at: int, partitions: list[int]) -> Iterator[Signal]:
        """Yield signals that partitions are in sync again."""
        if partitions:
            self.out_of_sync[broker].difference_update(partitions)
            for kind in (SignalKind.BACK_IN_SYNC, SignalKind.ISR_JOINED):
                yield self._of_partitions(kind, broker, at, partitions)

    def _of_partitions(self, kind: SignalKind, broker: int, at: int, partitions: list[int]) -> Signal:
        topics = sorted({f"t{partition // 3}" for partition in partitions})
        others: dict[str, Any] = {"reported_by": broker % 3 + 1, "other_broker_id": broker % 3 + 1}
        own: dict[str, Any] = {
            "broker_id": broker,
            "partitions": len(partitions),
            "partition_hashes": partitions,
            "topics": topics,
        }
        return Signal(kind, at, at - 30 * SECOND, **others, **own)

    def _outage(self, at: int) -> Iterator[Signal]:
        if self.returns:
            return
        broker = self.random.choice(BROKERS)
        self.returns[broker] = at + 10 * MINUTE + self.random.choice([0, 1, 4]) * HOUR
        for number in range(2):
            failed = at + number * SECOND
            yield Signal(SignalKind.POLL_FAILED, failed, at - SECOND, -1, broker, detail={"failure": "refused"})
        yield self._of_partitions(SignalKind.LEADER_LOST, broker, at + 5 * SECOND, [0, 4])
        yield from self.lags(broker, at + 6 * SECOND, list(range(9)))

    def _return(self, broker: int) -> Iterator[Signal]:
        back = self.returns.pop(broker)
        yield Signal(SignalKind.POLL_RECOVERED, back, back - SECOND, broker, broker)
        yield from self.in_sync(broker, back + 20 * SECOND, sorted(self.out_of_sync[broker]))

    def _condition(self, at: int) -> Iterator[Signal]:
        name, begins, ends, detail = self.random.choice(
            [
                ("group", SignalKind.GROUP_STALLED, SignalKind.GROUP_CONTINUED, {"group": "g"}),
                ("log dir", SignalKind.LOG_DIR_OFFLINE, SignalKind.LOG_DIR_ONLINE, {"log_dir": "/d"}),
                ("disk", SignalKind.DISK_FULL, SignalKind.DISK_FREE, {"log_dir": "/d"}),
                ("config", SignalKind.CONFIG_DEVIATED, SignalKind.CONFIG_CONFORMS, {"resource_type": "topic"}),
            ]
        )
        part = self.random.randrange(2)
        key = (name, part)
        self.lasting ^= {key}
        if name == "config":
            detail |= {"resource": "t", "key": f"k{part}", "value": str(at)}
        broker = part + 1 if "log_dir" in detail else -1
        own: dict[str, Any] = {"partitions": 1, "partition_hashes": [part], "topics": ["t"]} if name == "group" else {}
        yield Signal(begins if key in self.lasting else ends, at, at - SECOND, 1, broker, detail=detail, **own)


def signal_row(signal: Signal) -> dict[str, Any]:
    """Return a signal as a row, stored under the hour of its time, or under the next one shortly before its end."""
    row = {name: getattr(signal, name) for name in Signal.__slots__ if name != "filed_at"}
    filed_at = (signal.at + 30 * SECOND) // HOUR * HOUR
    return row | {"cluster_id": CLUSTER, "detail": sorted(signal.detail.items()), FILED_AT: filed_at}


def diagnosed_by_hours(rows: Rows) -> tuple[Rows, list[int]]:
    """Return the stored incidents after a diagnosis in each hour, and the numbers of signals that each one read."""
    stored: Rows = []
    summary: Rows = []
    read = []
    for as_of in range(FIRST + HOUR, FIRST + (HOURS + 1) * HOUR, HOUR):
        start = as_of - HOUR
        cut = min((row["cut"] for row in summary), default=start)
        signals = [row for row in rows if cut <= row[FILED_AT] < as_of] + summary
        read.append(len(signals))
        result = DiagnosisTask(start, as_of).run(
            pa.Table.from_pylist(signals, schema=ddl_schema(SUMMARY)),
            pa.Table.from_pylist(stored, schema=ddl_schema(f"{TABLE.ddl}, {FILED_AT} timestamp")),
        )
        stored = [row for row in result["incident"].to_pylist() if row is not None]
        summary = as_micros([row for row in result["summary"].to_pylist() if row is not None])
    return stored, read


def as_micros(rows: Rows) -> Rows:
    def micros(value: Any) -> Any:
        return round(value.timestamp() * SECOND) if hasattr(value, "timestamp") else value

    return [{name: micros(value) for name, value in row.items()} for row in rows]


def comparable(rows: Rows) -> list[str]:
    named = [{name: row[name] for name in TABLE.names} for row in rows]
    return sorted(map(repr, pa.Table.from_pylist(named, schema=TABLE.arrow).to_pylist()))


@pytest.mark.parametrize("seed", range(20))
def test_incidents_of_hours_equal_those_of_one_diagnosis(seed: int) -> None:
    signals = list(History(Random(seed)).signals())

    by_hours, _ = diagnosed_by_hours([signal_row(signal) for signal in signals])

    whole = [row_of(incident, CLUSTER) for incident in diagnose(signals)]
    assert {row["kind"] for row in whole} > {IncidentKind.REPLICA_LAGGING, IncidentKind.GROUP_STALLED}
    assert comparable(by_hours) == comparable(whole)


def test_hour_reads_as_many_signals_whatever_the_age_of_an_incident() -> None:
    """Broker 1 always lags: in each hour one of its partitions is in sync again, after another one fell behind."""
    history = History(Random(0))
    signals = []
    for number in range(HOURS):
        at = FIRST + number * HOUR + 20 * MINUTE
        end = str(at + 30 * MINUTE)
        signals.append(Signal(SignalKind.POLL_INTERVAL, at, None, detail={"interval_us": str(30 * SECOND), "end": end}))
        signals += history.lags(1, at, [number % 9])
        if number:
            signals += history.in_sync(1, at + MINUTE, [(number - 1) % 9])

    by_hours, read = diagnosed_by_hours([signal_row(signal) for signal in signals])

    [incident] = by_hours
    assert (incident["ended_at"], incident["partition_count"]) == (None, 9)
    assert as_micros([incident])[0][FILED_AT] == FIRST
    assert max(read[3:]) == min(read[3:])  # signals of two or three hours, and the summary
