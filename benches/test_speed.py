"""Speed of the engine over time, by pytest-benchmark: the effect of a change on one machine.

    python -m pytest benches/test_speed.py --benchmark-autosave        before
    python -m pytest benches/test_speed.py --benchmark-compare         after

The timer is the CPU time of this thread, so that other processes disturb it less than wall-clock time. To compare kwire
with other codecs, use `python -m benches.run`, where they take turns.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

import pytest

from benches.peers.peer import Codec, load
from benches.workloads import Workload

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.benchmark(timer=thread_time, min_rounds=9, warmup=True, warmup_iterations=3)

WORKLOADS = [
    Workload("a", 1),
    Workload("a", 12),
    Workload("b", 1),
    Workload("b", 12),
    Workload("b", 12, replicas="random"),
    Workload("kb", 1),
    Workload("kb", 1, lags="mixed"),
    Workload("v", 3),
]


@pytest.fixture(params=WORKLOADS, ids=str, scope="module")
def workload(request: pytest.FixtureRequest) -> Workload:
    chosen: Workload = request.param
    return chosen


@pytest.fixture(scope="module")
def body(workload: Workload) -> bytes:
    return workload.body()


@pytest.fixture(scope="module")
def codec(workload: Workload) -> Codec:
    return load("kwire").codec(workload.message, workload.version)


def test_decode(benchmark: BenchmarkFixture, codec: Codec, body: bytes) -> None:
    """Freeing the message is part of this figure: the timed loop drops what it gets."""
    assert codec.encode(benchmark(codec.decode, body)) == body


def test_encode(benchmark: BenchmarkFixture, codec: Codec, body: bytes) -> None:
    message = codec.decode(body)

    assert benchmark(codec.encode, message) == body


def test_validate(benchmark: BenchmarkFixture, codec: Codec, body: bytes) -> None:
    assert codec.validate is not None

    benchmark(codec.validate, body)
