"""Runs of changing verbs, first dry and then real: both must say the same.

A case is a command line. Both runs must have the same rows, failures, and errors, whatever the cluster answers, so no
case has an expected result of its own. `REFUSED` are changes that a cluster refuses, for reasons that a dry run has to
know; `ACCEPTED` depend on each other, in this order.
"""

from __future__ import annotations

import random
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire._util.secret import Secret
from kwire.errors import KwireError
from kwire_admin.cli.verb_command import verb_command
from kwire_admin.operations import registry
from kwire_admin.operations.declaration import Failure, Operation, Unhealthy
from kwire_admin.operations.parameters import Danger, InvalidArgument
from kwire_admin.operations.rows import json_value
from kwire_admin.operations.run import Run
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin import AdminClient

CHANGING = sorted(
    (noun, name)
    for noun in registry.nouns()
    for name in registry.verb_names(noun)
    if (verb := registry.find_verb(noun, name)) is not None and verb.danger > Danger.READS
)
"""Nouns and names of the verbs that change something."""

ACCEPTED = """
topics create dry compacted --replica-assignment 1,1 --config retention.ms=100000000
topics alter compacted --config cleanup.policy=compact
topics alter dry --config segment.ms=60000
topics alter dry --partitions 2
partitions add dry --by 1
configs set topic/dry retention.ms=-1
configs delete topic/dry retention.ms
configs set broker/default {setting}=7777777
configs delete broker/default {setting}
configs apply {folder}/configs.json
elections run dry
elections run
log-dirs move dry --broker 1 --to {directory}
offsets delete-records dry --before latest
groups reset-offsets idle --to earliest --topic dry
groups delete-offsets idle dry:0
groups delete idle
quotas set producer_byte_rate=1000 --user dry
quotas delete producer_byte_rate --user dry
users set dry --password-file {folder}/password
users set dry --password-file {folder}/password
users delete dry
acls add topic:dry --principal User:dry --operation read
acls add topic:dry topic:other --principal User:dry --operation read
acls apply {folder}/acls.json
acls apply {folder}/acls.json --prune
acls apply {folder}/acls.json --prune
acls delete --principal User:dry
acls delete --principal User:dry
tokens create --hmac-file {folder}/hmac
tokens renew {token}
tokens expire {token}
features downgrade {feature}={level}
features upgrade {feature}={next_level}
reassign-partitions execute {folder}/same.json --journal {folder}
tools run topics --list
""".strip().splitlines()

REFUSED = """
topics create dry -p 1 -r 1
topics create bad%name -p 1 -r 1
topics create other -p 1 -r 9
topics alter nosuch --config retention.ms=1
topics alter dry --config nosuch=1
topics alter dry --partitions 1
topics alter dry --replication-factor 9
topics delete nosuch
partitions add nosuch --by 1
partitions add dry --to 1
configs set topic/dry nosuch=1
configs set topic/nosuch retention.ms=1
configs set broker/default {setting}x=1
configs set broker/default {setting}=many
configs delete topic/nosuch retention.ms
configs delete broker/default nosuch
configs apply {folder}/invalid.json
elections run dry:99
elections run nosuch
elections run dry:99 --type unclean
log-dirs move dry:99 --broker 1 --to {directory}
log-dirs move dry --broker 1 --to /nosuch
log-dirs move dry --broker 9 --to {directory}
offsets delete-records dry:99 --before 0
offsets delete-records dry:0 --before 999
offsets delete-records compacted --before latest
groups reset-offsets busy --to earliest
groups reset-offsets busy --to earliest --topic dry
groups reset-offsets idle --to 999 --topic dry
groups delete-offsets busy dry
groups delete-offsets busy dry:0
groups delete-offsets idle nosuch
groups delete busy
groups delete nosuch busy
quotas set nosuch=1 --user dry
quotas delete nosuch --user dry
users set dry --password-file {folder}/password --iterations 1
users delete nosuch
users delete dry nosuch --mechanism scram-sha-256
acls add topic:dry --principal User:dry --operation create_tokens
acls add cluster:other --principal User:dry --operation alter
acls add group:dry --principal User:dry --operation write
acls apply {folder}/password
acls delete topic:dry --principal dry
tokens create --hmac-file {folder}/password
tokens create --hmac-file {folder}/group-hmac --renewer Group:dry
tokens renew nosuch
tokens expire nosuch
features upgrade nosuch=1
features downgrade nosuch=0
brokers unregister 99
brokers unregister 1
quorum add-voter 9 --listener CONTROLLER://localhost:1
quorum add-voter 9 --listener CONTROLLER://localhost:1 --directory AAAAAAAAAAAAAAAAAAAACQ
quorum remove-voter 9
quorum remove-voter 9 --directory AAAAAAAAAAAAAAAAAAAACQ
transactions abort dry:0 --start-offset 999
transactions abort dry:1 --start-offset {live}
transactions abort dry:1 --start-offset {live} --older-than 0
reassign-partitions execute {folder}/unknown.json --journal {folder}
reassign-partitions resume --journal {folder}
reassign-partitions cancel --journal {folder}
reassign-partitions rollback --journal {folder}
tools run nosuch
tools run topics --nosuch
""".strip().splitlines()

ACLS = [{"resource_type": "TOPIC", "resource_name": "dry", "principal": "User:dry", "operation": "WRITE"}]
"""The content of `{folder}/acls.json`."""

DOCUMENTS: dict[str, object] = {
    "configs": {"kwire": 1, "topics": {"dry": {"configs": {"segment.ms": 70000, "retention.ms": -1}}}},
    "invalid": {"kwire": 1, "topics": {"dry": {"configs": {"nosuch": 1}}}},
}
"""The documents of `configs apply` by the names of their files."""

LAST = ("topics delete dry compacted",)
"""Accepted changes that end a test."""

ACCEPTED_ELSEWHERE = {
    ("brokers", "unregister"): "kwire-admin/tests/kafka/test_quorum.py",
    ("quorum", "add-voter"): "kwire-admin/tests/kafka/test_quorum.py",
    ("quorum", "remove-voter"): "kwire-admin/tests/kafka/test_quorum.py",
    ("reassign-partitions", "cancel"): "kwire-admin/tests/kafka/test_reassignment.py",
    ("reassign-partitions", "resume"): "kwire-admin/tests/kafka/test_reassignment.py",
    ("reassign-partitions", "rollback"): "kwire-admin/tests/kafka/test_reassignment.py",
    ("transactions", "abort"): "kwire-admin/tests/kafka/test_hanging_transactions.py",
}
"""Verbs that need a special cluster to be accepted, and the test that has it."""

GENERATED = """
topics create {new} -p {number} -r {few}
topics create {new} {new} -p {number} -r {few} --config {topic_config}
topics create {new} --replica-assignment {assignment}
topics alter {topic} --partitions {number}
topics alter {topic} {topic} --config {topic_config} --delete-config {topic_key}
topics alter {topic} --replication-factor {few}
topics alter {topic} --replica-assignment {assignment}
topics delete {doomed} {doomed}
partitions add {topic} --to {number}
partitions add {topic} --by {number}
configs set topic/{topic} {topic_config}
configs delete topic/{topic} {topic_key}
configs set broker/{broker} {setting}={value}
configs delete broker/{broker} {setting}
elections run {partition} {partition}
log-dirs move {partition} --broker {broker_id} --to {directory}
offsets delete-records {partition} --before {position}
groups delete {group} {group}
groups delete-offsets {group} {partition}
groups reset-offsets {group} --to {position} --topic {topic}
quotas set {quota}={value} --user {new}
quotas delete {quota} --user {new}
users set {new} --password-file {folder}/password --iterations {iterations}
users set {new} --password-file {folder}/password --mechanism {mechanism}
users delete {new}
users delete {new} {new} --mechanism {mechanism}
acls add topic:{topic} --principal {principal} --operation {operation}
acls delete topic:{topic} --principal {principal}
features upgrade {feature}={level}
features downgrade {feature}={level}
""".strip().splitlines()
"""Forms of changes; `generated_cases` fills in what is sound, unknown, impossible, or odd."""

WORDS: dict[str, tuple[str, ...]] = {
    "new": ("dry", "odd.1", "odd_1", "bad%name", "fresh", "fresh2", "fresh3", "__consumer_offsets", "x" * 250),
    "topic": ("dry", "dry", "compacted", "compacted", "nosuch", "odd.1", "bad%name", "__consumer_offsets"),
    "doomed": ("nosuch", "odd.1", "odd_1", "fresh", "fresh2"),
    "partition": ("dry", "dry:0", "dry:1", "dry:99", "compacted", "compacted:0", "nosuch", "nosuch:0"),
    "number": ("1", "2", "3", "4", "5", "20"),
    "few": ("1", "1", "1", "2", "9", "32767"),
    "assignment": ("1", "1,1", "1:1", "99", "1,99", "1,1,1,1", "1:99"),
    "topic_config": ("retention.ms=5", "retention.ms=many", "nosuch=1", "cleanup.policy=compact", "segment.ms=60000"),
    "topic_key": ("retention.ms", "segment.ms", "retention.m", "nosuch"),
    "broker": ("1", "default", "99"),
    "broker_id": ("1", "99"),
    "value": ("1", "7777777", "-1", "many", "2147483648"),
    "position": ("earliest", "latest", "0", "1", "999", "2026-11-22T08:00Z"),
    "group": ("idle", "nosuch", "busy"),
    "quota": ("producer_byte_rate", "consumer_byte_rate", "nosuch"),
    "iterations": ("4096", "1", "99999"),
    "mechanism": ("scram-sha-256", "scram-sha-512"),
    "principal": ("User:dry", "User:other", "dry"),
    "operation": ("read", "write", "create_tokens", "all"),
    "level": ("0", "1", "2", "3", "4", "9", "9999"),
}
"""Words for the forms in GENERATED."""


def generated_cases(seed: int, rounds: int) -> list[str]:
    """Return each form of GENERATED `rounds` times with words at random, in random order.

    Values that a test knows, such as `{folder}`, stay.
    """
    words = random.Random(seed)
    forms = [form for form in GENERATED for _ in range(rounds)]
    words.shuffle(forms)
    return [re.sub(r"\{(\w+)\}", lambda match: words.choice(WORDS.get(match[1], (match[0],))), form) for form in forms]


UNPREDICTABLE = {"tokens": ("name", "expires"), "tools": ("exit_status", "output")}
"""Keys of rows that a dry run cannot know, by noun."""


class Result(NamedTuple):
    """The result, error, and warnings of a run.

    Attributes:
        rows: the rows and failures as JSON values, without `would be` and what no dry run can know.
        error: the error of the whole run as text; None without one.
        warnings: the warnings.
        is_refused: True if there is an error or a failure.
        token: the id of the created token; None without one.
    """

    rows: list[Any]
    error: str | None
    warnings: list[str]
    is_refused: bool
    token: str | None = None


def verb_of(case: str) -> tuple[str, str]:
    """Return the noun and the name of the verb of a case."""
    noun, name = case.split()[:2]
    return noun, name


def cases_of(cases: Iterable[str], dialect: str) -> list[str]:
    """Return the cases with verbs that clusters of a dialect have."""
    # The client does not know the tools of nodes, and the dry run says so.
    undecided = {"tools run nosuch"} if dialect == "kip4" else set()
    return [case for case in cases if dialect in find_verb_of(case).dialects and case not in undecided]


def find_verb_of(case: str) -> Operation:
    verb = registry.find_verb(*verb_of(case))
    assert verb is not None, case
    return verb


async def run_case(admin: AdminClient, case: str, values: Mapping[str, object], *, dry_run: bool) -> Result:
    """Run a case."""
    verb = find_verb_of(case)
    words = shlex.split(case.format(**values))[2:]
    arguments = parse_case(verb, words)
    warnings: list[str] = []
    run = Run(admin, dry_run=dry_run, wait=10, warn=warnings.append)
    rows: list[Any] = []
    error = None
    try:
        rows = [*await verb(run, **arguments)]
    except Unhealthy as answer:
        rows, error = [*answer.rows], answer.summary
    except (KwireError, InvalidArgument) as problem:
        error = f"{type(problem).__name__}: {problem}"
    refused = error is not None or any(isinstance(row, Failure) for row in rows)
    documents = [_comparable(json_value(row), verb.noun) for row in rows]
    token = json_value(rows[0]).get("name") if verb.noun == "tokens" and rows and not refused else None
    return Result(documents, error, warnings, refused, token)


def parse_case(verb: Operation, words: list[str]) -> dict[str, Any]:
    given = verb_command(verb).make_context(verb.name, words).params
    arguments: dict[str, Any] = {}
    for parameter in verb.parameters:
        value = given[parameter.name]
        if parameter.type is Secret:
            value = Secret("correct horse")
        elif parameter.choices is not None and value is not None:
            value = [parameter.type(item) for item in value] if parameter.many else parameter.type(value)
        arguments[parameter.name] = [*value] if parameter.many else value
    return arguments


def _comparable(document: dict[str, Any], noun: str) -> dict[str, Any]:
    """Return a row without what may differ: the words `would be`, and the number of requests."""
    ignored = {"attempts", *UNPREDICTABLE.get(noun, ())}
    comparable = {key: value for key, value in document.items() if key not in ignored or "error" in document}
    if "status" in comparable:
        comparable["status"] = re.sub("^would be ", "", comparable["status"])
    return comparable


async def check_case(admin: AdminClient, case: str, values: dict[str, object]) -> Result:
    """Run a case dry and real, check that both say the same, and return the real result."""
    router = admin.router
    router.checked_commands.clear()
    sent = len(router.commands)
    dry = await run_case(admin, case, values, dry_run=True)
    checked = router.checked_commands | {command.request for command in router.commands[sent:]}
    sent = len(router.commands)
    real = await run_case(admin, case, values, dry_run=False)
    if admin.dialect == "kafka":  # nodes of kwire serve all commands of their verbs
        assert {command.request for command in router.commands[sent:]} <= checked, case
    if verb_of(case)[0] == "reassign-partitions":  # a dry run prints the steps instead of the row of a run
        assert (dry.error, dry.warnings) == (real.error, real.warnings), case
    else:
        assert dry._replace(token=None) == real._replace(token=None), case
    if real.token is not None:
        values["token"] = real.token

        async def listed() -> Any:
            return any(token.token_id == real.token for token in await admin.describe_delegation_tokens())

        if verb_of(case)[1] == "create":
            await eventually(listed, "the broker lists the token")
    return real
