"""The tool `jmx-tool`."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.secret import Secret
from kwire_admin.operations.declaration import ANYWHERE, ToolFailed, operation
from kwire_admin.operations.parameters import Address, InvalidArgument, Option
from kwire_zookeeper_tools.jolokia import UnknownBean, read_attributes
from kwire_zookeeper_tools.tool_run import ToolRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JAVA_LETTERS = re.compile(r"'(?P<quoted>[^']*)'|([A-Za-z])\2*|.", re.DOTALL)
"""Parts of a date format of Java: quoted text, a letter with its repetitions, or another character."""
MILLISECONDS = "%L"
"""Stands for milliseconds, which strftime does not have."""
TIME_LETTERS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": MILLISECONDS,
    "a": "%p",
    "hh": "%I",
    "Z": "%z",
    "z": "%Z",
}
"""Directives of strftime by letters of Java."""


class ReportFormat(StrEnum):
    """The form of the report."""

    ORIGINAL = "original"
    PROPERTIES = "properties"
    CSV = "csv"
    TSV = "tsv"


NO_AGENT = (
    "JMX over RMI needs Java, which kwire does not use: start the broker with the Jolokia agent "
    "(KAFKA_OPTS=-javaagent:jolokia-agent-jvm.jar), and give --jmx-url http://HOST:8778/jolokia"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JmxOptions:
    """Options of the tool."""

    object_name: Annotated[list[str], Option("The name of an MBean, or a pattern.", "NAME")] = field(
        default_factory=list
    )
    attributes: Annotated[str | None, Option("Only these attributes.", "NAME,NAME,...")] = None
    reporting_interval: Annotated[int, Option("Milliseconds between two lines.", "MS")] = 2000
    jmx_url: Annotated[Address | None, Option("The address of a Jolokia agent.", "URL")] = None
    jmx_ssl_enable: Annotated[bool, Option("Connect with TLS, also to an address with http.")] = False
    jmx_auth_prop: Annotated[str | None, Option("User and password for the agent.", "USER=PASSWORD")] = None
    date_format: Annotated[
        str | None, Option("Form of the time as in Java, such as yyyy-MM-dd HH:mm:ss.SSS [default: ISO 8601].", "FORM")
    ] = None
    report_format: Annotated[ReportFormat, Option("original, properties, csv, or tsv.", "FORM")] = ReportFormat.ORIGINAL
    wait: Annotated[bool, Option("Wait until all MBeans exist.")] = False
    one_time: Annotated[bool, Option("Print one line and end.")] = False


@operation(
    runs_on=ANYWHERE,
    replaces=("kafka.tools.JmxTool", "org.apache.kafka.tools.JmxTool"),
    time_limit=None,
    examples=("--jmx-url http://localhost:8778/jolokia --object-name java.lang:type=Memory --one-time",),
)
async def jmx_tool(run: ToolRun, options: JmxOptions) -> None:
    """Print attributes of MBeans of a broker with a Jolokia agent as CSV, one line at an interval.

    JMX itself works over RMI, which only Java speaks.
    """
    url, form = options.jmx_url or "", options.report_format
    if not url.startswith(("http://", "https://")):
        raise ToolFailed(NO_AGENT)
    if not options.object_name:
        raise InvalidArgument("--object-name is missing")
    if options.jmx_ssl_enable:
        url = url.replace("http://", "https://", 1)
    time_format = None if options.date_format is None else python_time_format(options.date_format)
    credentials = None if options.jmx_auth_prop is None else Secret(options.jmx_auth_prop)
    wanted = [] if options.attributes is None else options.attributes.split(",")
    names: list[str] | None = None
    while True:
        try:
            values = await asyncio.to_thread(read_attributes, url, options.object_name, wanted, credentials)
        except UnknownBean:
            if not options.wait:
                raise
            await asyncio.sleep(options.reporting_interval / 1000)
            continue
        if names is None:
            names = sorted(values)
            _print_header(run, form, names)
        _print_values(run, form, _now(time_format), {name: str(values.get(name, "")) for name in names})
        if options.one_time:
            return
        await asyncio.sleep(options.reporting_interval / 1000)


def python_time_format(form: str) -> str:
    """Return the format of `strftime` for a date format of Java (`SimpleDateFormat`).

    Raises:
        InvalidArgument: it has a letter without an equivalent.
    """
    parts: list[str] = []
    for match in JAVA_LETTERS.finditer(form):
        text, quoted = match[0], match["quoted"]
        if quoted is not None:
            parts.append((quoted or "'").replace("%", "%%"))
        elif text in TIME_LETTERS:
            parts.append(TIME_LETTERS[text])
        elif text.isalpha():
            raise InvalidArgument(f"--date-format: {text} is not supported: use {', '.join(TIME_LETTERS)}")
        else:
            parts.append(text.replace("%", "%%"))
    return "".join(parts)


def _now(form: str | None) -> str:
    moment = datetime.now(UTC)
    if form is None:
        return moment.isoformat(timespec="milliseconds")
    return moment.astimezone().strftime(form.replace(MILLISECONDS, f"{moment.microsecond // 1000:03d}"))


def _print_header(run: ToolRun, form: ReportFormat, names: Sequence[str]) -> None:
    if form in {ReportFormat.ORIGINAL, ReportFormat.CSV}:
        run.print(",".join(f'"{name}"' if form is ReportFormat.ORIGINAL else name for name in ("time", *names)))


def _print_values(run: ToolRun, form: ReportFormat, time: str, values: Mapping[str, str]) -> None:
    rows = {"time": time, **values}
    if form in {ReportFormat.ORIGINAL, ReportFormat.CSV}:
        run.print(",".join(rows.values()))
        return
    separator = "\t" if form is ReportFormat.TSV else "="
    for name, value in rows.items():
        run.print(f"{name}{separator}{value}")
