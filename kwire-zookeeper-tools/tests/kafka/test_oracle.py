"""kwire's scripts beside Kafka's own tools of 0.8.2.2 to 4.4.0, which run in this test."""

from __future__ import annotations

import pytest

from tests.kafka.oracle.page import KNOWN, PAGE, OracleRun, different, page, run_oracle


@pytest.fixture(scope="module")
def oracle_run() -> OracleRun:
    return run_oracle()


def test_lines_and_exit_codes_are_those_of_the_release(oracle_run: OracleRun) -> None:
    unexpected = different(oracle_run)
    assert not unexpected, "\n".join(map(str, unexpected))
    assert {comparison.case.line for comparison in oracle_run.comparisons if not comparison.is_same} == {*KNOWN}


def test_page_is_current(oracle_run: OracleRun) -> None:
    assert page(oracle_run) == PAGE.read_text(encoding="utf-8"), "run python -m tests.kafka.oracle.page"
