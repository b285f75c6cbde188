"""The tool `state-change-log-merger`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zookeeper_tools.tools.running import output, run

FIRST = """\
[2026-11-22 08:00:00,001] TRACE Controller 1 epoch 1 changed partition [orders,0] to Online (state.change.logger)
[2026-11-22 08:00:00,003] TRACE Broker 1 cached leader info for partition audit-1 (state.change.logger)
a line without a time
[2026-11-22 08:00:00,005] TRACE Broker 1 handled partition orders-10 (state.change.logger)
"""
SECOND = """\
[2026-11-22 08:00:00,002] TRACE Broker 2 handled partition orders-1 (state.change.logger)
[2026-11-22 08:00:00,004] TRACE Broker 2 handled partition [ orders , 2 ] (state.change.logger)
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "state-change.log.1").write_text(FIRST)
    (tmp_path / "state-change.log.2").write_text(SECOND)
    (tmp_path / "server.log").write_text(FIRST)
    return tmp_path


def milliseconds(lines: list[str]) -> list[int]:
    return [int(line[21:24]) for line in lines]


@pytest.mark.parametrize(
    ("words", "merged"),
    [
        ([], [1, 2, 3, 4, 5]),
        (["--topic", "orders"], [1, 2, 4, 5]),
        (["--topic", "orders", "--partitions", "0,1"], [1, 2]),
        (["--start-time", "2026-11-22 08:00:00,003", "--end-time", "2026-11-22 08:00:00,004"], [3, 4]),
        (["--topic", "nosuch"], []),
    ],
)
async def test_lines_are_merged_by_time(logs: Path, words: list[str], merged: list[int]) -> None:
    by_regex = await output("state-change-log-merger", "--logs-regex", f"{logs}/state-change.*", *words)
    assert milliseconds(by_regex) == merged
    files = f"{logs}/state-change.log.1,{logs}/state-change.log.2"
    assert await output("state-change-log-merger", "--logs", files, *words) == by_regex


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give either --logs or --logs-regex"),
        (["--logs", "/nosuch/x.log"], "cannot read /nosuch/x.log: No such file or directory"),
        (["--logs-regex", "nosuch("], "is not a regular expression"),
        (["--logs", "x", "--partitions", "1"], "--partitions needs --topic"),
        (["--logs", "x", "--start-time", "noon"], "--start-time: expected a time such as"),
    ],
)
async def test_wrong_use_is_one_sentence(words: list[str], sentence: str) -> None:
    result = await run("state-change-log-merger", *words)
    assert result.exit_status in {1, 2}
    assert sentence in str(result.error)


async def test_binary_rubbish_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(bytes(range(256)) * 10)
    assert await output("state-change-log-merger", "--logs", tmp_path / "log") == []
