"""Whatever a broker answers, a verb ends with rows, or with an error that is a sentence."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from kwire.client.admin import AdminClient
from kwire.errors import KwireError
from kwire_admin.operations import registry
from kwire_admin.operations.declaration import Failure, Unhealthy
from kwire_admin.operations.parameters import Danger, InvalidArgument
from kwire_admin.operations.rows import cells, json_value
from kwire_admin.operations.run import Run, run_verb
from tests.operations.verbs.dry_runs import find_verb_of, parse_case
from tests.operations.verbs.odd_answers import odd_broker

VERBS = """
acls add topic:a --principal User:b --operation read
acls delete topic:a
acls list
brokers api-versions
brokers list
brokers unregister 1
cluster describe
cluster health
configs delete topic/orders retention.ms
configs export
configs get broker/1 --all
configs get topic/orders
configs set broker/default log.retention.ms=1
configs set topic/orders retention.ms=1
elections run
elections run orders:0
features describe
features describe --safe
features upgrade metadata.version=99
groups delete g
groups delete-offsets g orders
groups describe g
groups lag
groups lag --total
groups lag g
groups list
groups reset-offsets g --to 2026-11-22T08:00Z
groups reset-offsets g --topic orders --to earliest
log-dirs list
log-dirs list --by topic
log-dirs move orders --broker 1 --to /x
offsets delete-records orders --before latest
offsets list orders
partitions add orders --to 5
quorum describe
quorum remove-voter 1
quotas delete producer_byte_rate --user a
quotas get
reassign-partitions status
tokens expire x
tokens list
topics alter orders --replication-factor 2
topics create n -p 1 -r 1
topics delete orders
topics describe
topics describe --only under-min-isr
topics describe orders --lag
topics list
topics list --details
transactions describe t
transactions find-hanging
transactions list
users delete a
users list
""".strip().splitlines()
UNREAD = {
    ("configs", "audit"),  # a journal of this machine
    ("configs", "diff"),  # reads what `configs export` reads
    ("reassign-partitions", "plan"),  # reads what `snapshot` reads
    ("reassign-partitions", "simulate"),  # a file
    ("reassign-partitions", "snapshot"),  # reads metadata and log directories, as `log-dirs list`
    ("reassign-partitions", "verify"),  # a file
    ("tools", "list"),  # of this machine
    ("zookeeper", "decode"),  # of ZooKeeper
    ("zookeeper", "show"),  # of ZooKeeper
}


def test_every_reading_verb_is_in_the_list() -> None:
    reading = {
        (noun, name)
        for noun in registry.nouns()
        for name in registry.verb_names(noun)
        if (verb := registry.find_verb(noun, name)) is not None and verb.danger is Danger.READS
    }
    assert reading - {tuple(line.split()[:2]) for line in VERBS} == UNREAD


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dry_run", [True, False])
async def test_odd_answers_never_look_like_a_bug(seed: int, dry_run: bool) -> None:
    for line in VERBS:
        async with odd_broker(f"{seed} {dry_run} {line}") as broker:
            verb = find_verb_of(line)
            rows: list[Any] = []
            sentence = "rows"
            try:
                async with await AdminClient.open(f"127.0.0.1:{broker.port}", timeout=0.2) as admin:
                    run = Run(admin, dry_run=dry_run and verb.danger > Danger.READS, wait=0.1)
                    rows = await run_verb(verb, run, parse_case(verb, shlex.split(line)[2:]))
            except Unhealthy as answer:
                rows = [*answer.rows]
            except (KwireError, InvalidArgument) as error:
                sentence = str(error)
            assert sentence, line
            for row in rows:
                json.dumps(json_value(row))
                if not isinstance(row, Failure):
                    list(cells(row))
