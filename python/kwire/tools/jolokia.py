"""Attributes of MBeans through a Jolokia agent: JMX as JSON over HTTP (https://jolokia.org, protocol version 7)."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kwire.tools.tool import ToolFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECONDS = 10.0
"""Time to wait for a response."""


def read_attributes(url: str, beans: Sequence[str], attributes: Sequence[str]) -> dict[str, Any]:
    """Return the values of attributes by `MBEAN:ATTRIBUTE`. It blocks.

    Args:
        url: the address of the agent.
        beans: names of MBeans, or patterns.
        attributes: only these attributes; all if there are none.

    Raises:
        ToolFailed: the agent does not answer, or does not know an MBean.
    """
    reads = [
        {"type": "read", "mbean": bean} | ({"attribute": list(attributes)} if attributes else {}) for bean in beans
    ]
    found: dict[str, Any] = {}
    for bean, result in zip(beans, _post(url, reads), strict=True):
        if result.get("status") != 200:
            raise ToolFailed(f"{bean}: {result.get('error', 'the agent reports no reason')}")
        value = result["value"]
        by_bean = value if "*" in bean else {bean: value}
        for name, values in by_bean.items():
            found |= dict(_flat(name, values))
    return found


def _flat(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of an MBean; those of composite attributes one by one."""
    for attribute, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name}:{attribute}.{key}", each) for key, each in value.items())
        else:
            yield f"{name}:{attribute}", value


def _post(url: str, body: Any) -> list[dict[str, Any]]:
    parts = urlsplit(url)
    connection_class = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = connection_class(parts.netloc, timeout=SECONDS)
    try:
        connection.request("POST", parts.path.rstrip("/") + "/", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise ToolFailed(f"{url}: the agent answers with HTTP status {response.status}")
        results: list[dict[str, Any]] = json.loads(data)
    except (OSError, HTTPException, ValueError) as error:
        raise ToolFailed(f"no Jolokia agent answers at {url}: {error}") from None
    finally:
        connection.close()
    return results
