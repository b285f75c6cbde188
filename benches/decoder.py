"""Compare `kwire.Decoder` with `kwire.decode` for MetadataResponse of 5,000 topics x 20 partitions.

    python -m benches.decoder [--quick]

Both decode two frames in turn, as a poller does: each message replaces the previous one, which is freed. The times
include freeing, which a decoder does inside its call. In a changed topic, either one partition or every partition has
another leader.
"""

from __future__ import annotations

import dataclasses
import gc
from random import Random
from statistics import median
from time import thread_time_ns

import kwire
from benches.figure import Figure
from benches.program import print_figures
from benches.workloads import Workload
from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponseTopic

VERSIONS = (1, 12)


def run(quick: bool) -> list[Figure]:
    rounds = 5 if quick else 25
    figures = []
    for version in VERSIONS:
        body = Workload("b", version).body()
        message = kwire.decode(MetadataResponse, body, version=version)
        seconds = {
            "whole frame unchanged": (message, 25.0, 50.0),
            "1 % of topics changed": (changed(message, 0.01, 1), 12.0, 25.0),
            "1 % of topics changed in every partition": (changed(message, 0.01), 12.0, 25.0),
            "10 % of topics changed": (changed(message, 0.10, 1), 5.0, 8.0),
            "10 % of topics changed in every partition": (changed(message, 0.10), 5.0, 8.0),
            "1 % inserted and removed": (exchanged(message, 0.01), 5.0, 15.0),
            "nothing in common": (unlike(message), 1.3, 1.1),
        }
        for name, (second, at_least, goal) in seconds.items():
            plain, again = compared(body, kwire.encode(second, version=version), version, rounds)
            title = f"Decoder, (b) v{version}, {name}"
            detail = f"{again / 1e6:.2f} ms against {plain / 1e6:.2f}"
            if name == "nothing in common":
                cost = f"{title}: cost over a plain decode"
                figures.append(Figure(cost, again / plain, "x", at_least, goal, higher_is_better=False, detail=detail))
            else:
                figures.append(Figure(f"{title}, x decode + free", plain / again, "x", at_least, goal, detail=detail))
    return figures


def compared(first: bytes, second: bytes, version: int, rounds: int) -> tuple[float, float]:
    """Return the median nanoseconds of a plain decode that frees the previous message, and of a decoder's call."""
    decoder = kwire.Decoder(MetadataResponse, version=version)
    for frame in (first, second, first):
        assert decoder.decode(frame) == kwire.decode(MetadataResponse, frame, version=version)
    plain, again = [], []
    gc.collect()
    gc.freeze()
    message = None
    for _ in range(rounds):
        for frame in (second, first):
            begun = thread_time_ns()
            message = kwire.decode(MetadataResponse, frame, version=version)
            plain.append(thread_time_ns() - begun)
            begun = thread_time_ns()
            decoder.decode(frame)
            again.append(thread_time_ns() - begun)
    gc.unfreeze()
    del message
    return median(plain), median(again)


def with_new_leaders(topic: MetadataResponseTopic, count: int | None = None) -> MetadataResponseTopic:
    """Give the first `count` partitions, or all, another leader."""
    led = topic.partitions[:count]
    partitions = tuple(
        dataclasses.replace(partition, leader_id=partition.replica_nodes[1], leader_epoch=partition.leader_epoch + 1)
        for partition in led
    )
    partitions += topic.partitions[len(led) :]
    return dataclasses.replace(topic, partitions=partitions)


def changed(message: MetadataResponse, share: float, partitions: int | None = None) -> MetadataResponse:
    topics = list(message.topics)
    for index in Random(1).sample(range(len(topics)), round(share * len(topics))):
        topics[index] = with_new_leaders(topics[index], partitions)
    return dataclasses.replace(message, topics=tuple(topics))


def exchanged(message: MetadataResponse, share: float) -> MetadataResponse:
    """Remove half of the share of topics and insert as many new ones at other indexes."""
    random = Random(2)
    topics = list(message.topics)
    count = round(share * len(topics) / 2)
    for index in sorted(random.sample(range(len(topics)), count), reverse=True):
        del topics[index]
    for number in range(count):
        new = dataclasses.replace(topics[0], name=f"{topics[0].name}-{number}")
        topics.insert(random.randrange(len(topics)), new)
    return dataclasses.replace(message, topics=tuple(topics))


def unlike(message: MetadataResponse) -> MetadataResponse:
    """Replace all topics by others with different names and partitions."""
    topics = (dataclasses.replace(with_new_leaders(topic), name=f"{topic.name}x") for topic in message.topics)
    return dataclasses.replace(message, topics=tuple(topics))


if __name__ == "__main__":
    print_figures(run, "decoder", "Measure kwire.Decoder.", "few rounds, for a rough estimate")
