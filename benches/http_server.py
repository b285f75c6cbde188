"""The server of `kafka http` beside a call in the process, in turns.

    python -m benches.http_server [--quick]

Both list 5,000 topics of one fake cluster in another process: the verb with a client of its own in this process, and a
GET request on one connection, which is read to its end. Cluster, server, and this process share the machine.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from benches.administration import FULL, Size, fake_cluster
from benches.figure import Figure
from benches.program import print_figures
from kwire.client.admin import AdminClient
from kwire.operations.rows import json_value
from kwire.operations.run import Run
from kwire.operations.verbs.topics.list_ import list_

SECONDS = 30.0
"""The longest time that the server may take to start."""


def run(quick: bool) -> list[Figure]:
    """Measure the list of topics."""
    size = Size(5_000, 20, 0, 0, 0, 10 if quick else FULL.turns * 8)
    with fake_cluster(size) as bootstrap, tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [sys.executable, "-m", "kwire", "-b", bootstrap, "http", "--listen", "127.0.0.1:0"]
        with subprocess.Popen([*command, "--ready-file", str(ready)], stderr=subprocess.DEVNULL) as server:
            try:
                deadline = time.monotonic() + SECONDS
                while not ready.exists():
                    if server.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError("the server did not start")
                    time.sleep(0.05)
                url = json.loads(ready.read_text())["url"]
                called, requested = asyncio.run(measure(bootstrap, url, size.turns))
            finally:
                server.terminate()
    ratio = median(one / two for one, two in zip(called, requested, strict=True))
    detail = f"{1 / median(requested):.1f} requests a second; {1 / median(called):.1f} calls"
    name = f"HTTP list of {size.described_topics} topics, requests a second over the call in the process"
    return [Figure(name, ratio, "", 0.5, 0.8, detail=detail)]


async def measure(bootstrap: str, url: str, turns: int) -> tuple[list[float], list[float]]:
    """Return the seconds of calls and of requests, in turns. The first turn does not count."""
    address = urlsplit(url)
    assert address.hostname is not None
    connection = HTTPConnection(address.hostname, address.port)
    called, requested = [], []
    async with await AdminClient.open(bootstrap) as admin:
        rows, body = await list_(Run(admin)), b""
        for turn in range(turns + 1):
            started = time.perf_counter()
            rows = await list_(Run(admin))
            between = time.perf_counter()
            connection.request("GET", "/api/v1/topics/list")
            body = connection.getresponse().read()
            ended = time.perf_counter()
            if turn:
                called.append(between - started)
                requested.append(ended - between)
        if json.loads(body)["rows"] != json_value(rows):
            raise RuntimeError("the server returns other rows")
    connection.close()
    return called, requested


if __name__ == "__main__":
    print_figures(run, "http_server", "Measure the HTTP server.", "few rounds, for a first impression")
