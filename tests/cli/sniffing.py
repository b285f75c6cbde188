"""Runs `kwire sniff`."""

from __future__ import annotations

import json
import re
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kwire import frame
from tests.cli.running import Running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message


LIST_TOPICS = {
    "confluent-kafka": """
import sys
from confluent_kafka.admin import AdminClient
client = AdminClient({"bootstrap.servers": sys.argv[1], "client.id": "app"})
print(*sorted(client.list_topics(timeout=60).topics))
""",
    "kafka-python": """
import sys
from kafka import KafkaConsumer
consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], client_id="app")
print(*sorted(consumer.topics()))
consumer.close()
""",
}
"""Programs with real clients that print the topics of a cluster."""


class Sniffing:
    """A running `kwire sniff`."""

    def __init__(self, run: Running, addresses: list[str]) -> None:
        self.run = run
        self.addresses = addresses
        self.address = addresses[0]

    def stop(self, number: signal.Signals = signal.SIGINT) -> str:
        """Send a signal, check that the command ends without an error, and return the rest of its output."""
        self.run.process.send_signal(number)
        return self.finish()

    def finish(self) -> str:
        out = self.run.stdout.read().decode()
        assert self.run.process.wait(60) == 0
        return out

    def documents(self) -> list[Any]:
        return [json.loads(line) for line in self.stop().splitlines()]


@contextmanager
def sniffing(*arguments: str, routes: int = 1) -> Iterator[Sniffing]:
    with Running("sniff", *arguments) as run:
        addresses = []
        for _ in range(routes):
            line = run.stderr.readline().decode()
            match = re.fullmatch(r"listening on (127\.0\.0\.1:\d+), forwarding to .+:\d+\n", line)
            assert match is not None, line
            addresses.append(match[1])
        yield Sniffing(run, addresses)


def request(message: Message, version: int, correlation_id: int = 1) -> bytes:
    return frame.encode_request(message, version=version, correlation_id=correlation_id, client_id="app")
