"""Runs of Kafka's scripts, first with a client that only validates, and then real: both must print the same.

A form is a command line; `generated_lines` fills in what is sound, unknown, impossible, or odd, and adds options with
numbers at random, which it takes from the declarations of the scripts.
"""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, NamedTuple, cast

from kwire.client.admin import AdminError
from kwire.errors import KwireError
from kwire_admin.compat.options import ScriptUsageError, parse
from kwire_admin.compat.registry import find_script
from kwire_admin.compat.script import ScriptFailed, ScriptRun
from kwire_zookeeper_tools.tool_run import DryRunClient

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kwire.client.admin import AdminClient

READING = frozenset(
    (
        *("kafka-broker-api-versions", "kafka-cluster", "kafka-get-offsets", "kafka-groups", "kafka-log-dirs"),
        "kafka-preferred-replica-election",  # an older name of kafka-leader-election
    )
)
"""Scripts without forms. `kafka-cluster` has a test of its own, since a cluster ends without its brokers."""
FORMS = """
kafka-topics --create --topic {new} --partitions {number} --replication-factor {number} --config {config}
kafka-topics --create --topic {new} --replica-assignment {assignment}
kafka-topics --create --topic {topic} --partitions 1 --if-not-exists
kafka-topics --alter --topic {topic} --partitions {number}
kafka-topics --alter --topic {topic} --partitions {number} --replica-assignment {assignment} --if-exists
kafka-topics --delete --topic {doomed}
kafka-topics --delete --topic {doomed} --if-exists
kafka-configs --alter --entity-type topics --entity-name {topic} --add-config {config}
kafka-configs --alter --entity-type topics --entity-name {topic} --delete-config {key}
kafka-configs --alter --entity-type topics --entity-name {topic} --add-config {config} --delete-config {key}
kafka-configs --alter --entity-type brokers --entity-default --add-config {broker_config}
kafka-configs --alter --entity-type brokers --entity-name {broker} --add-config {broker_config}
kafka-configs --alter --entity-type brokers --entity-name {broker} --delete-config {broker_key}
kafka-configs --alter --entity-type groups --entity-name {group} --add-config {group_config}
kafka-configs --alter --entity-type users --entity-name {new} --add-config {quota}
kafka-configs --alter --entity-type clients --entity-default --add-config {quota}
kafka-configs --alter --entity-type users --entity-name {new} --delete-config {quota_key}
kafka-configs --alter --entity-type ips --entity-name 127.0.0.1 --add-config {quota}
kafka-configs --alter --entity-type users --entity-name {new} --add-config {scram}
kafka-configs --alter --entity-type users --entity-name {new} --delete-config {mechanism}
kafka-client-metrics --alter --name {new} --interval {number} --metrics org.
kafka-client-metrics --alter --name {new} --match {match}
kafka-client-metrics --delete --name {new}
kafka-acls --add --allow-principal {principal} --operation {operation} --topic {topic}
kafka-acls --add --deny-principal {principal} --producer --topic {topic}
kafka-acls --add --allow-principal {principal} --operation {operation} --cluster
kafka-acls --remove --force --allow-principal {principal} --operation {operation} --topic {topic}
kafka-acls --remove --force --topic {topic}
kafka-consumer-groups --reset-offsets --execute --group {group} --topic {partition} {target}
kafka-consumer-groups --reset-offsets --execute --group {group} --all-topics {target}
kafka-consumer-groups --reset-offsets --execute --group {group} --from-file {offsets}
kafka-consumer-groups --reset-offsets --execute --all-groups --topic {topic} --to-latest
kafka-consumer-groups --delete-offsets --group {group} --topic {partition}
kafka-consumer-groups --delete --group {group}
kafka-share-groups --reset-offsets --execute --group {group} --topic {partition} --to-latest
kafka-share-groups --delete-offsets --group {group} --topic {topic}
kafka-share-groups --delete --group {group}
kafka-streams-groups --reset-offsets --execute --group {group} --input-topic {topic} --to-latest
kafka-streams-groups --delete-offsets --group {group} --input-topic {topic}
kafka-streams-groups --delete --group {group}
kafka-delete-records --offset-json-file {records}
kafka-leader-election --election-type {election} --topic {topic} --partition {number}
kafka-leader-election --election-type {election} --path-to-json-file {plan}
kafka-leader-election --election-type {election} --all-topic-partitions
kafka-reassign-partitions --execute --reassignment-json-file {plan}
kafka-reassign-partitions --execute --reassignment-json-file {plan} --throttle {rate}
kafka-reassign-partitions --execute --reassignment-json-file {plan} --additional --timeout {rate}
kafka-reassign-partitions --cancel --reassignment-json-file {plan}
kafka-features upgrade --feature {feature}={level}
kafka-features downgrade --feature {feature}={level}
kafka-features disable --feature {feature}
kafka-features upgrade --metadata {version}
kafka-metadata-quorum remove-controller --controller-id {number} --controller-directory-id {directory}
kafka-metadata-quorum --command-config {controller} add-controller
kafka-delegation-tokens --renew --renew-time-period {rate} --hmac {hmac}
kafka-delegation-tokens --expire --expiry-time-period {rate} --hmac {hmac}
kafka-transactions abort --topic {topic} --partition {number} --start-offset {number}
""".strip().splitlines()
WORDS = {
    "new": ("fresh", "fresh2", "fresh.3", "fresh_3", "bad%name", "x" * 250),
    "topic": ("dry", "dry", "spare", "nosuch", "bad%name"),
    "doomed": ("fresh", "fresh2", "nosuch", "fresh.*"),
    "partition": ("dry", "dry:0", "dry:1", "dry:99", "nosuch", "dry:x", "spare"),
    "number": ("0", "1", "1", "2", "3", "99", "many", "-1", "99999999999999999999"),
    "rate": ("0", "1", "-1", "5000", "many", "99999999999999999999", "9223372036854775807"),
    "assignment": ("1", "1,1", "1:1", "99", "1,99", "x", "1,1,1,1"),
    "config": ("retention.ms=5", "retention.ms=many", "nosuch=1", "cleanup.policy=compact", "segment.ms=60000", "x"),
    "key": ("retention.ms", "segment.ms", "nosuch"),
    "broker": ("1", "1", "99", "x"),
    "broker_config": ("log.retention.ms=7777777", "log.retention.ms=many", "nosuch=1", "broker.id=7"),
    "broker_key": ("log.retention.ms", "nosuch"),
    "group": ("idle", "idle", "nosuch", "busy"),
    "group_config": ("consumer.session.timeout.ms=50000", "consumer.session.timeout.ms=1", "nosuch=1"),
    "quota": ("producer_byte_rate=1", "consumer_byte_rate=-1", "producer_byte_rate=x", "nosuch=1"),
    "quota_key": ("producer_byte_rate", "nosuch"),
    "scram": ("SCRAM-SHA-256=[password=a]", "SCRAM-SHA-256=[iterations=1,password=a]", "SCRAM-SHA-512=[iterations=1]"),
    "mechanism": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "match": ("client_id=a", "client_id=(", "nosuch=1"),
    "principal": ("User:dry", "User:other", "dry"),
    "operation": ("Read", "Alter", "Fly", "All", "ClusterAction"),
    "target": (
        *("--to-earliest", "--to-latest", "--to-current", "--to-offset 0", "--to-offset 999", "--shift-by 1"),
        *("--shift-by -99", "--shift-by x", "--to-datetime 2026-11-22T08:00:00.000", "--to-datetime never"),
        *(
            "--by-duration P1D",
            "--by-duration 1",
            "--timeout 0",
            "--to-earliest --timeout 0",
            "--to-latest --timeout x",
        ),
    ),
    "offsets": tuple(f"{{folder}}/{name}.csv" for name in ("good", "unknown", "empty", "latin", "text", "nosuch")),
    "records": tuple(f"{{folder}}/{name}.json" for name in ("records", "beyond", "empty", "latin", "plan", "nosuch")),
    "plan": tuple(f"{{folder}}/{name}.json" for name in ("plan", "absent", "dead", "dirs", "empty", "latin", "nosuch")),
    "election": ("preferred", "unclean", "best"),
    "feature": ("group.version", "transaction.version", "metadata.version", "nosuch"),
    "level": ("0", "1", "2", "9", "99", "x"),
    "version": ("3.3-IV3", "99.9", "2.8"),
    "directory": ("AAAAAAAAAAAAAAAAAAAACQ", "rubbish"),
    "controller": ("{folder}/controller.properties", "{folder}/latin.csv", "{folder}/nosuch.properties"),
    "hmac": ("bm9zdWNo", "%"),
}
SPOKEN = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),  # any broker can be asked what a request would do
    (r"(Exception:) .*", r"\1"),
    (r"Current ACLs for resource [^\0]*", ""),  # what is there after the run
    (r"(Error:) Group .*", r"\1 The group id does not exist."),
)
"""Parts of texts that differ, and their replacement: a dry run explains an error in words of its own."""
ODD_NUMBERS = ("many", "0", "-1", "99999999999999999999")


class ScriptResult(NamedTuple):
    """The output of a run, and how it ended."""

    output: str
    ended: str


class ScriptCluster:
    """The cluster and the output of a run, in place of a tool.

    Args:
        admin: a client of the cluster.
        is_dry_run: True to validate changes only.
    """

    def __init__(self, admin: AdminClient, *, is_dry_run: bool) -> None:
        self._admin = cast("AdminClient", DryRunClient(admin)) if is_dry_run else admin
        self.output = ""

    def write(self, text: str) -> None:
        self.output += text

    async def admin(self) -> AdminClient:
        return self._admin


def scripts_with_forms() -> set[str]:
    return {form.split()[0] for form in FORMS}


def write_files(folder: Path) -> None:
    """Write the files that lines name."""
    good = {"topic": "dry", "partition": 0, "offset": 1}
    move = {"topic": "dry", "partition": 0, "replicas": [1]}
    documents = {
        "records": [good],
        "beyond": [{**good, "offset": 999}],
        "plan": [move],
        "absent": [{**move, "topic": "nosuch", "partition": 7}],
        "dead": [{**move, "replicas": [99]}],
        "dirs": [{**move, "log_dirs": ["/nosuch"]}],
    }
    for name, partitions in documents.items():
        (folder / f"{name}.json").write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")
    texts = {"good": "dry,0,1\n", "unknown": "nosuch,0,1\n", "empty": "", "text": "dry;0;1\n"}
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    (folder / "empty.json").write_text("", encoding="utf-8")
    for suffix in ("csv", "json"):
        (folder / f"latin.{suffix}").write_bytes("größe,0,1\n".encode("latin-1"))
    (folder / "log").mkdir()
    (folder / "log" / "meta.properties").write_text("directory.id=AAAAAAAAAAAAAAAAAAAACQ\n", encoding="utf-8")
    (folder / "controller.properties").write_text(
        f"node.id=9\nprocess.roles=controller\nlog.dirs={folder}/log\n"
        "listeners=CONTROLLER://127.0.0.1:1\ncontroller.listener.names=CONTROLLER\n",
        encoding="utf-8",
    )


def generated_lines(seed: int, rounds: int, forms: Iterable[str] = FORMS) -> list[str]:
    """Return each form `rounds` times with words at random, in random order. `{folder}` stays."""
    choices = random.Random(seed)
    chosen = [form for form in forms for _ in range(rounds)]
    choices.shuffle(chosen)
    lines = []
    for form in chosen:
        line = re.sub(r"\{(\w+)\}", lambda match: choices.choice(WORDS[match[1]]), form)
        numbers = numbers_of(form.split()[0])
        if numbers and choices.random() < 0.25:
            line += f" --{choices.choice(numbers)} {choices.choice(ODD_NUMBERS)}"
        lines.append(line)
    return lines


def numbers_of(script: str) -> list[str]:
    """Return the options of a script that take a number."""
    return [option.name for option in find_script(script).options if option.value and option.kind != "String"]


async def run_line(admin: AdminClient, line: str, folder: Path, *, is_dry_run: bool) -> ScriptResult:
    """Run a line, as a tool runs its script."""
    name, *words = line.replace("{folder}", str(folder)).split()
    script = find_script(name)
    cluster = ScriptCluster(admin, is_dry_run=is_dry_run)
    timeout = admin.router.timeout
    try:
        values = parse(script.options, [*words, "--bootstrap-server", "unused"])
        run = ScriptRun(values, "4.4.0", cluster)
        await script.function(run)
        ended = "failures" if run.has_failures else "done"
    except AdminError as error:
        ended = f"{error.name} of {error.item}"
    except (KwireError, OSError, ScriptFailed, ScriptUsageError) as error:
        ended = f"{type(error).__name__}: {error}"
    finally:
        admin.router.timeout = timeout  # a script may have set another one
    return ScriptResult(_comparable(cluster.output), _comparable(ended))


def _comparable(text: str) -> str:
    for spoken, replacement in SPOKEN:
        text = re.sub(spoken, replacement, text)
    return text


async def differences(admin: AdminClient, lines: Iterable[str], folder: Path) -> tuple[list[str], dict[str, int]]:
    """Return the lines whose dry run is not their real run, and the number of runs by how they ended.

    An invalid option counts as well if something was changed before it was read.
    """
    found = []
    ended = {"done": 0, "refused": 0}
    for line in lines:
        dry = await run_line(admin, line, folder, is_dry_run=True)
        sent = len(admin.commands)
        real = await run_line(admin, line, folder, is_dry_run=False)
        ended["done" if real.ended == "done" else "refused"] += 1
        if dry != real:
            found.append(f"{line}\n  dry:  {dry}\n  real: {real}")
        if real.ended.startswith("ScriptUsageError") and len(admin.commands) > sent:
            found.append(f"{line}\n  changed something before: {real.ended}")
    return found, ended
