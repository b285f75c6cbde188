"""Attributes of MBeans through a Jolokia agent: JMX as JSON over HTTP (https://jolokia.org, protocol version 7)."""

from __future__ import annotations

import json
from base64 import b64encode
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kwire._util.json_document import parse_json_document
from kwire_admin.operations.declaration import ToolFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire._util.secret import Secret

NOT_FOUND = 404
SECONDS = 10.0
"""Time to wait for a response."""
MAX_BYTES = 16 * 1024 * 1024
"""Largest response in bytes. Chosen, not measured: all MBeans of a broker take one or two megabytes."""


class UnknownBean(ToolFailed):
    """The agent does not know an MBean."""


def read_attributes(
    url: str, beans: Sequence[str], attributes: Sequence[str], credentials: Secret | None = None
) -> dict[str, Any]:
    """Return the values of attributes by `MBEAN:ATTRIBUTE`. It blocks.

    Args:
        url: the address of the agent.
        beans: names of MBeans, or patterns.
        attributes: only these attributes; all if there are none.
        credentials: user and password, as `USER=PASSWORD`.

    Raises:
        UnknownBean: the agent does not know an MBean.
        ToolFailed: the agent does not answer as one does.
    """
    reads = [
        {"type": "read", "mbean": bean} | ({"attribute": list(attributes)} if attributes else {}) for bean in beans
    ]
    results = _post(url, reads, credentials)
    if not isinstance(results, list) or len(results) != len(beans):
        raise ToolFailed(f"{url}: expected a list of {len(beans)} results, which a Jolokia agent returns")
    readings: dict[str, Any] = {}
    for bean, result in zip(beans, results, strict=True):
        fields = _object(url, result)
        if fields.get("status") != 200:
            failure = UnknownBean if fields.get("status") == NOT_FOUND else ToolFailed
            raise failure(f"{bean}: {fields.get('error', 'the agent reports no reason')}")
        value = _object(url, fields.get("value"))
        by_bean = value if "*" in bean else {bean: value}
        for name, values in by_bean.items():
            readings |= dict(_flat(name, _object(url, values)))
    return readings


def _object(url: str, value: Any) -> dict[str, Any]:
    """Return a JSON object, or raise ToolFailed for a response that is not an agent's."""
    if not isinstance(value, dict):
        raise ToolFailed(f"{url}: expected an object in the response of a Jolokia agent, found {str(value)[:100]!r}")
    return value


def _flat(name: str, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of an MBean; those of composite attributes one by one."""
    for attribute, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name}:{attribute}.{key}", item) for key, item in value.items())
        else:
            yield f"{name}:{attribute}", value


def _post(url: str, body: Any, credentials: Secret | None) -> Any:
    headers = {"Content-Type": "application/json"}
    if credentials is not None:
        user_and_password = credentials.reveal().replace("=", ":", 1)
        headers["Authorization"] = f"Basic {b64encode(user_and_password.encode()).decode()}"
    try:
        parts = urlsplit(url)
        connection_class = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = connection_class(parts.netloc, timeout=SECONDS)
    except (HTTPException, ValueError) as error:
        raise ToolFailed(f"{url} is not an address: {error}") from None
    try:
        connection.request("POST", parts.path.rstrip("/") + "/", json.dumps(body), headers)
        response = connection.getresponse()
        data = response.read(MAX_BYTES + 1)
        if response.status != 200:
            raise ToolFailed(f"{url}: the agent answers with HTTP status {response.status}")
        if len(data) > MAX_BYTES:
            raise ToolFailed(f"{url}: the response exceeds {MAX_BYTES:,} bytes")
        return parse_json_document(data)
    except (OSError, HTTPException, ValueError) as error:
        raise ToolFailed(f"no Jolokia agent answers at {url}: {error}") from None
    finally:
        connection.close()
