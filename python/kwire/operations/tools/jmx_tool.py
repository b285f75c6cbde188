"""The tool `jmx-tool`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from kwire.operations.declaration import ANYWHERE, ToolFailed, operation
from kwire.operations.jolokia import read_attributes
from kwire.operations.parameters import Address, InvalidArgument, Option
from kwire.operations.run import ToolRun

NO_AGENT = (
    "JMX over RMI needs Java, which kwire does not use: start the broker with the Jolokia agent "
    "(KAFKA_OPTS=-javaagent:jolokia-agent-jvm.jar), and give --jmx-url http://HOST:8778/jolokia"
)


@operation(
    runs_on=ANYWHERE,
    without_effect=("--date-format FORMAT",),
    replaces=("kafka.tools.JmxTool", "org.apache.kafka.tools.JmxTool"),
    time_limit=None,
    examples=("--jmx-url http://localhost:8778/jolokia --object-name java.lang:type=Memory --one-time",),
)
async def jmx_tool(
    run: ToolRun,
    object_name: Annotated[list[str], Option("The name of an MBean, or a pattern.", "NAME")] = [],
    attributes: Annotated[str | None, Option("Only these attributes.", "NAME,NAME,...")] = None,
    reporting_interval: Annotated[int, Option("Milliseconds between two lines.", "MS")] = 2000,
    jmx_url: Annotated[Address | None, Option("The address of a Jolokia agent.", "URL")] = None,
    one_time: Annotated[bool, Option("Print one line and end.")] = False,
) -> None:
    """Print attributes of MBeans of a broker with a Jolokia agent as CSV, one line at an interval.

    JMX itself works over RMI, which only Java speaks.
    """
    if jmx_url is None or not jmx_url.startswith(("http://", "https://")):
        raise ToolFailed(NO_AGENT)
    if not object_name:
        raise InvalidArgument("--object-name is missing")
    wanted = [] if attributes is None else attributes.split(",")
    names: list[str] | None = None
    while True:
        values = await asyncio.to_thread(read_attributes, jmx_url, object_name, wanted)
        if names is None:
            names = sorted(values)
            run.print(",".join(f'"{name}"' for name in ("time", *names)))
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        run.print(",".join((time, *(str(values.get(name, "")) for name in names))))
        if one_time:
            return
        await asyncio.sleep(reporting_interval / 1000)
