"""The tool `state-change-log-merger`."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, TextIO

from kwire._kwire import Pattern
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import FileNames, InvalidArgument, Option
from kwire_admin.operations.partitions import parse_numbers
from kwire_zookeeper_tools.tool_run import ToolRun

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
LINE = re.compile(rf"\[({TIME})\]")
PARTITION = re.compile(r"\[\s*([\w.-]+)\s*,\s*(\d+)\s*\]|partition ([\w.-]+)-(\d+)\b")
"""A partition as Kafka 0.8 writes it, `[orders,0]`, and since 2.4, `partition orders-0`."""


@operation(
    runs_on=ANYWHERE,
    needs={Need.FILES},
    time_limit=600,
    replaces=("kafka.tools.StateChangeLogMerger",),
    examples=("--logs broker-1/state-change.log,broker-2/state-change.log --topic orders --partitions 0,1",),
)
async def state_change_log_merger(
    run: ToolRun,
    logs: Annotated[FileNames | None, Option("The log files.", "FILE,FILE,...")] = None,
    logs_regex: Annotated[
        FileNames | None, Option("The log files: a folder, and a regular expression for their names.", "FOLDER/REGEX")
    ] = None,
    topic: Annotated[str | None, Option("Only lines about this topic.", "TOPIC")] = None,
    partitions: Annotated[str | None, Option("Only lines about these partitions of the topic.", "N,N,...")] = None,
    start_time: Annotated[str, Option("Only lines from this time on.", "TIME")] = "0000-00-00 00:00:00,000",
    end_time: Annotated[str, Option("Only lines up to this time.", "TIME")] = "9999-99-99 23:59:59,999",
) -> None:
    """Merge the state change logs of several brokers by time.

    A time has the form 2026-11-22 08:00:00,000. Lines without a time are left out.
    """
    if (logs is None) == (logs_regex is None):
        raise InvalidArgument("give either --logs or --logs-regex")
    if partitions is not None and topic is None:
        raise InvalidArgument("--partitions needs --topic")
    for name, text in (("--start-time", start_time), ("--end-time", end_time)):
        if not re.fullmatch(TIME, text):
            raise InvalidArgument(f"{name}: expected a time such as 2026-11-22 08:00:00,000, found {text!r}")
    names = logs.split(",") if logs is not None else _matching_files(run, logs_regex or "")
    if not names:
        raise ToolFailed(f"no file matches {logs_regex}")
    numbers = parse_numbers(partitions)
    with ExitStack() as files:
        opened = [files.enter_context(_open(run, name)) for name in names]
        for time, line in heapq.merge(*map(_lines, opened), key=lambda entry: entry[0]):
            if start_time <= time <= end_time and _is_about(line, topic, numbers):
                run.print(line)


def _matching_files(run: ToolRun, pattern: str) -> list[str]:
    folder, _, expression = pattern.rpartition("/")
    try:
        wanted = Pattern(expression)
        return sorted(str(path) for path in run.file(Path(folder or ".")).iterdir() if wanted.search(path.name))
    except ValueError as error:
        raise InvalidArgument(f"--logs-regex: {expression!r} is not a regular expression: {error}") from None
    except OSError as error:
        raise ToolFailed(f"cannot read {folder}: {error.strerror}") from None


def _open(run: ToolRun, name: str) -> TextIO:
    try:
        return run.file(Path(name)).open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ToolFailed(f"cannot read {name}: {error.strerror}") from None


def _is_about(line: str, topic: str | None, partitions: tuple[int, ...] | None) -> bool:
    return topic is None or any(
        (match[1] or match[3]) == topic and (partitions is None or int(match[2] or match[4]) in partitions)
        for match in PARTITION.finditer(line)
    )


def _lines(file: TextIO) -> Iterator[tuple[str, str]]:
    for line in file:
        if match := LINE.search(line):
            yield match[1], line.rstrip("\r\n")
