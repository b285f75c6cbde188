"""The alerts of the recorded clusters: an outage is an alert or an episode of one, a consequence is neither."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from kwire_pipeline.gold.diagnosis import diagnose
from kwire_pipeline.gold.incidents import TABLE, read_signals, row_of
from kwire_pipeline.sinks import Ledger, NoticeStatus
from kwire_pipeline.sinks.delivery import SETTLING, SinkDelivery
from kwire_pipeline.sinks.subscription import TROUBLE
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline import recorded
from tests.pipeline.sinks.alerts import DELIVERIES, LONG_AGO, Recorder

pytestmark = pytest.mark.nightly

OUTAGES = {"kill_9": "critical", "sigstop": "critical", "controlled_shutdown": "warning"}
"""The severity of the outage that follows an event of the log."""


def incidents_until(signals: pa.Table, time: datetime) -> list[dict[str, Any]]:
    """Return gold's incidents as of a time: as if nothing had been polled since."""
    past = signals.filter(pc.less_equal(signals.column("at"), pa.scalar(time)))
    if not past.num_rows:
        return []
    # The signal of an interval between polls has the time of the last one.
    end = str(round(time.timestamp() * 1_000_000))
    details = [
        [(name, min(text, end) if name == "end" else text) for name, text in detail or ()]
        for detail in past.column("detail").to_pylist()
    ]
    index = past.schema.get_field_index("detail")
    past = past.set_column(index, "detail", pa.array(details, past.schema.field(index).type))
    cluster_id = past.column("cluster_id")[0].as_py()
    diagnosed = [row_of(incident, cluster_id) for incident in diagnose(read_signals(past))]
    rows: list[dict[str, Any]] = pa.Table.from_pylist(diagnosed, schema=TABLE.arrow).to_pylist()
    for row in rows:
        row["seen_at"], row["attributes"] = dict(row["seen_at"] or ()), dict(row["attributes"] or ())
    return rows


def read(incidents: list[dict[str, Any]], _: Ledger) -> list[dict[str, Any]]:
    return incidents


def is_settled(now: datetime, row: Mapping[str, Any]) -> bool:
    return bool(row["first_sign_at"] <= now - SETTLING)


@pytest.mark.parametrize("variant", ["", " every 2 s", " lossy"])
@pytest.mark.parametrize("name", recorded.NAMES)
def test_outage_is_one_alert_from_its_first_sign_to_its_end(
    recorded_gold: str, tmp_path: Path, name: str, variant: str
) -> None:
    """Gold is built each second, so its diagnosis changes as it does for a live pipeline."""
    table = PipelineStore(recorded_gold).snapshot().dataset("gold/signals")
    assert table is not None
    signals = table.to_table(filter=ds.field("cluster_id") == name + variant).drop_columns(["date", "hour"])
    times = signals.column("at")
    time, end = pc.min(times).as_py(), pc.max(times).as_py() + timedelta(seconds=15)
    sink = Recorder()
    delivery = SinkDelivery(str(tmp_path), sink, LONG_AGO, TROUBLE)
    DELIVERIES.append(delivery)

    while time < end:
        delivery.publish(partial(read, incidents_until(signals, time)), partial(is_settled, time))
        time += timedelta(seconds=1)

    statuses: dict[str, list[str]] = defaultdict(list)
    outages: dict[str, list[str]] = defaultdict(list)
    for notice in sink.notices:
        begins = notice.status is NoticeStatus.FIRING or notice.id not in statuses
        if begins and (broker := notice.labels.get("broker_id")) is not None:
            outages[broker].append(notice.labels["severity"])
        statuses[notice.id].append(notice.status)
    for status in statuses.values():
        assert status == ["resolved"] or status == ["firing", "resolved"] * (len(status) // 2)
    expected: dict[str, list[str]] = defaultdict(list)
    for event in recorded.events(name):
        if event.kind in OUTAGES:
            of_broker = expected[str(event.detail["broker"])]
            # The next outage of a broker soon after the last one is an episode of the same alert, with its labels.
            of_broker.append(of_broker[0] if of_broker else OUTAGES[event.kind])
    assert outages == expected
