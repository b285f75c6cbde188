"""CPU time of small commands from start to end, and of the import of the admin client.

    python -m benches.command_start [--quick]

- Lists of topics and the lag of one group, each by the command in a process of its own, against a fake cluster in
  another process. The reference is a program that lists the same topics with a plain socket and the codec: it imports
  little else, so it is about the least that a command in Python costs.
- The import of `AdminClient` beside the import of confluent-kafka's.

Processes run in random order. Their times are CPU times of the whole process, so other work on the machine matters
less than it does for elapsed time.
"""

from __future__ import annotations

from random import Random
from statistics import median
from typing import TYPE_CHECKING

from benches.figure import Figure
from benches.imports import interpreter
from benches.program import fake_cluster, print_figures

if TYPE_CHECKING:
    from collections.abc import Mapping

FAKE_CLUSTER = """\
import sys
from kwire.testing import FakeCluster
topics = [f"topic-{number}" for number in range(int(sys.argv[1]))]
with FakeCluster(topics=topics, partitions=4) as cluster:
    for topic in topics[:3]:
        cluster.set_ends(topic, dict.fromkeys(range(4), 1000), dict.fromkeys(range(4), 0))
    cluster.set_groups({"group": {topic: dict.fromkeys(range(4), 900) for topic in topics[:3]}})
    print(cluster.bootstrap, flush=True)
    sys.stdin.read()
"""
COMMAND = """\
import os, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
sys.argv = ["kafka", "-b", {bootstrap!r}, *{words!r}]
from kwire_admin.cli import main
main()
"""
PLAIN_SOCKET = """\
import os, socket, struct, sys
import kwire
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
body = kwire.encode(MetadataRequest(topics=None), version=9)
frame = struct.pack(">hhih", 3, 9, 1, 2) + b"kw" + bytes(1) + body
host, _, port = {bootstrap!r}.partition(",")[0].partition(":")
stream = socket.create_connection((host, int(port)))
stream.sendall(struct.pack(">i", len(frame)) + frame)
answer = stream.makefile("rb")
size = struct.unpack(">i", answer.read(4))[0]
response = kwire.decode(MetadataResponse, answer.read(size)[5:], version=9)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
print("\\n".join(topic.name for topic in response.topics))
"""
OUR_CLIENT = "from kwire.client.admin import AdminClient"
CONFLUENT_CLIENT = "from confluent_kafka.admin import AdminClient"


def in_turns(programs: Mapping[str, str], rounds: int) -> dict[str, float]:
    """Return the median CPU time of each program in milliseconds."""
    random = Random(1)
    for program in programs.values():
        interpreter(program)  # writes the bytecode and fills the page cache
    taken: dict[str, list[int]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name in random.sample(list(programs), len(programs)):
            taken[name].append(interpreter(programs[name]))
    return {name: median(times) / 1e6 for name, times in taken.items()}


def run(quick: bool) -> list[Figure]:
    """Measure the commands and the import."""
    rounds = 5 if quick else 15
    figures = []
    for topics in (10, 5_000):
        with fake_cluster(FAKE_CLUSTER, topics) as bootstrap:
            programs = {
                "plain socket": PLAIN_SOCKET.format(bootstrap=bootstrap),
                "topics list": COMMAND.format(bootstrap=bootstrap, words=["topics", "list"]),
                "groups lag": COMMAND.format(bootstrap=bootstrap, words=["groups", "lag", "group"]),
            }
            taken = in_turns(programs, rounds)
        for name, at_least, goal in (("topics list", 2.0, 1.3), ("groups lag", 2.5, 1.7)):
            detail = f"{taken[name]:.0f} ms, plain socket {taken['plain socket']:.0f} ms"
            figures.append(
                Figure(
                    f"`kafka {name}`, {topics:,} topics, CPU against a plain socket and the codec",
                    taken[name] / taken["plain socket"],
                    "x",
                    at_least,
                    goal,
                    higher_is_better=False,
                    detail=detail,
                )
            )
    taken = in_turns({"bare": "pass", "kwire": OUR_CLIENT, "confluent": CONFLUENT_CLIENT}, rounds)
    own, theirs = (taken[name] - taken["bare"] for name in ("kwire", "confluent"))
    detail = f"{own:.0f} ms over bare Python, confluent-kafka {theirs:.0f} ms"
    name = "import AdminClient, CPU against confluent-kafka"
    figures.append(Figure(name, own / theirs, "x", 0.6, 0.4, higher_is_better=False, detail=detail))
    return figures


if __name__ == "__main__":
    print_figures(run, "command_start", "CPU time of small commands from start to end.", "few rounds")
