"""Pages in the names of other exporters, compared series by series with pages of these exporters.

What a query of a dashboard or of a rule returns follows from the series, so equal series are equal results.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from tests.eventually import eventually
from tests.exporter.peer_states import fake_cluster, parsed, recorded, states
from tests.exporter.scraping import monitored, text, view

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.testing import FakeCluster
    from kwire_admin.exporter.cluster_view import ClusterView
    from tests.exporter.peer_states import Page

MORE = re.compile(r"kminion_kafka_(topic_info_\w+|consumer_group_info_\w+|consumer_group_offset_commits_total){")
"""Metrics that the recorded KMinion lacks, and forks of it have."""
NO_MEMBERS = "kminion_kafka_consumer_group_empty_members{"
"""A metric that KMinion shows only above 0."""
RELEASE = re.compile(r'(cluster_version|version)="[^"]*"')
DIFFERENCES: dict[str, dict[str, float | None]] = {
    "no leader": {
        # What is committed is known without the log, and is not left out of sums.
        'kafka_consumergroup_current_offset{consumergroup="billing",partition="1",topic="orders"}': 60,
        'kafka_consumergroup_current_offset{consumergroup="many",partition="1",topic="orders"}': -1,
        'kafka_consumergroup_lag{consumergroup="many",partition="1",topic="orders"}': -1,
        'kafka_consumergroup_current_offset_sum{consumergroup="billing",topic="orders"}': 209,
        'kminion_kafka_consumer_group_topic_offset_sum{group_id="billing",topic_name="orders"}': 209,
        # A sum without the partition would be smaller than the topic's.
        'kminion_kafka_topic_high_water_mark_sum{topic_name="orders"}': None,
        'kminion_kafka_topic_low_water_mark_sum{topic_name="orders"}': None,
    }
}
"""By state, values that differ from those of the peers on purpose."""


async def test_pages_are_equal_in_every_state() -> None:
    with fake_cluster() as cluster:
        views = {names: view(names) for names in ("kafka_exporter", "kminion")}
        pages = {names: recorded(names) for names in views}
        async with monitored(cluster.bootstrap, *views.values(), timeout=3.0):
            for state in states(cluster):
                for names, ours in views.items():
                    expected = values_of(pages[names][state])
                    if names == "kafka_exporter":
                        correct_lags(expected)
                    expected |= {
                        name: value for name, value in DIFFERENCES.get(state, {}).items() if name[:6] == names[:6]
                    }
                    find = partial(differing, ours, names, expected, cluster)
                    with suppress(AssertionError):  # the differences say more
                        await eventually(partial(is_empty, find))
                    assert not find(), state


def is_empty(find: Callable[[], dict[str, tuple[float | None, float | None]]]) -> bool:
    """Return whether nothing differs."""
    return not find()


def differing(
    ours: ClusterView, names: str, expected: dict[str, float | None], cluster: FakeCluster
) -> dict[str, tuple[float | None, float | None]]:
    """Return the values of a page that differ from the expected ones, and these; None for no series."""
    values = values_of(parsed(text(ours), names, cluster))
    return {
        name: (values.get(name), expected.get(name))
        for name in values.keys() | expected.keys()
        if values.get(name) != expected.get(name)
        and not MORE.match(name)
        and not (name.startswith(NO_MEMBERS) and values.get(name) == 0)
    }


def values_of(page: Page) -> dict[str, float | None]:
    """Return the values of a page by series, without the label `cluster`, and with equal releases."""
    values: dict[str, float | None] = {}
    for (name, labels), value in page.items():
        pairs = (f'{label}="{text}"' for label, text in labels if label != "cluster")
        values[RELEASE.sub(r'\1=""', f"{name}{{{','.join(pairs)}}}")] = value
    return values


def correct_lags(values: dict[str, float | None]) -> None:
    """Correct what kafka_exporter says of groups: no lag is negative, and sums do not include -1 for no commit."""
    for metric in ("kafka_consumergroup_current_offset", "kafka_consumergroup_lag"):
        sums: Counter[str] = Counter()
        for name, value in values.items():
            match = re.fullmatch(rf'{metric}{{(consumergroup="\w+"),partition="\d+",(topic="\w+")}}', name)
            if match is not None and value is not None:
                uncommitted = name.replace("_lag{", "_current_offset{")
                values[name] = -1 if values[uncommitted] == -1 else max(value, 0)
                sums[f"{metric}_sum{{{match[1]},{match[2]}}}"] += int(max(value, 0))
        values.update(sums)
