"""One run of every verb, as a person would type it, on each kind of cluster that has the verb.

The steps depend on each other: a topic is created, used, and deleted. What a cluster without security or without KRaft
answers instead is part of the step, so that its error is tested as well.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from kwire_admin.operations import registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.cli.administration import Operator

Kind: TypeAlias = Literal["3.9.1", "4.4.0", "4.4.0 secured", "nodes"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KAFKA: tuple[Kind, ...] = ("3.9.1", "4.4.0", "4.4.0 secured")
PLAINTEXT: tuple[Kind, ...] = ("3.9.1", "4.4.0")

NOT_SERVED = "the broker does not serve it"
NO_AUTHORIZER: dict[Kind, str] = dict.fromkeys(PLAINTEXT, "SECURITY_DISABLED")
NO_BROKER_9 = dict.fromkeys(KAFKA, "BROKER_ID_NOT_REGISTERED") | {"3.9.1": NOT_SERVED}
NO_FEATURES: dict[Kind, str] = {"3.9.1": "INVALID_REQUEST"}
NO_KRAFT: dict[Kind, str] = {"3.9.1": NOT_SERVED}
NO_OTHER_VOTER = dict.fromkeys(KAFKA, "not node 9") | {"3.9.1": NOT_SERVED}
NO_ZOOKEEPER: dict[Kind, str] = dict.fromkeys(("4.4.0", "4.4.0 secured"), "no broker reports a ZooKeeper")
NO_TOKENS: dict[Kind, str] = dict.fromkeys(PLAINTEXT, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED")

FEATURES: dict[Kind, tuple[str, int]] = {"nodes": ("group_coordinator", 2)}
"""By kind of cluster, a feature and a level below its finalized one; `group.version` 0 elsewhere."""


class Step(NamedTuple):
    """A command, and what it prints.

    Attributes:
        command: the arguments. `{name}` stands for a value that an earlier step remembers, or for `{folder}`.
        prints: a part of its output.
        errors: by kind of cluster, a part of the error instead.
        remembers: values of the first row by name.
        stdin: the typed input.
        succeeds_in: the file of the test that shows its success, if it is an error on every kind of cluster here.
        only: the kinds of clusters that it is for.
    """

    command: str
    prints: str = ""
    errors: Mapping[Kind, str] = {}
    remembers: Mapping[str, str] = {}
    stdin: str = ""
    succeeds_in: str | None = None
    only: tuple[Kind, ...] = KINDS

    @property
    def verb(self) -> tuple[str, str]:
        """The noun and the name of the verb."""
        noun, name = self.command.split()[:2]
        return noun, name

    def kinds(self) -> tuple[Kind, ...]:
        """Return the kinds of clusters that have the verb."""
        verb = registry.find_verb(*self.verb)
        assert verb is not None
        return tuple(kind for kind in self.only if ("kip4" if kind == "nodes" else "kafka") in verb.dialects)


STEPS = (
    Step("topics create verbs -p 1 -r 1", "created"),
    Step("topics list verbs", "verbs"),
    Step("topics describe verbs", '"leader": 1'),
    Step("topics alter verbs --config segment.ms=60000", "altered"),
    Step("partitions add verbs --by 1", "changed from 1 to 2 partitions"),
    Step("configs set topic/verbs retention.ms=-1", "set"),
    Step("configs get topic/verbs", '"retention.ms"'),
    Step("configs delete topic/verbs segment.ms --yes", "deleted"),
    Step("configs set broker/default {setting}=7777777", "set"),
    Step("configs export --only brokers --only topics", "7777777"),
    Step("configs audit", "7777777"),
    Step("configs delete broker/default {setting} --yes", "deleted"),
    Step("configs diff {folder}/configs.json"),
    Step("configs apply {folder}/configs.json --yes"),
    Step("elections run verbs", "unchanged"),
    Step("reassign-partitions status --journal {folder}"),
    Step("reassign-partitions plan --topic verbs --replication-factor 1", '"moves": 0'),
    Step("reassign-partitions snapshot {folder}/cluster.json", '"brokers": 1'),
    Step("reassign-partitions simulate {folder}/reassignment.json --snapshot {folder}/cluster.json", "0 batches"),
    Step("reassign-partitions verify {folder}/reassignment.json", '"status": "completed"'),
    Step("reassign-partitions execute {folder}/reassignment.json --journal {folder}", "nothing is to be done"),
    *(
        Step(
            f"reassign-partitions {verb} --journal {{folder}}{' --yes' if verb == 'cancel' else ''}",
            errors=dict.fromkeys(KINDS, "has no run of this cluster"),
            succeeds_in="kwire-admin/tests/kafka/test_reassignment.py",
        )
        for verb in ("resume", "cancel", "rollback")
    ),
    Step("cluster describe", '"controller": 1'),
    Step("cluster health"),
    Step("brokers list", '"broker": 1'),
    Step("brokers api-versions 1", '"api": "Metadata"', only=KAFKA),
    Step("brokers api-versions", '"api": "ClusterMetadata"', only=("nodes",)),
    Step("brokers unregister 9 --yes", errors=NO_BROKER_9, succeeds_in="kwire-admin/tests/kafka/test_quorum.py"),
    Step("features describe"),
    Step("features downgrade {feature}={level} --yes", "downgraded", NO_FEATURES),
    Step("features upgrade {feature}={next_level}", "upgraded", {"3.9.1": "the brokers 1 (unknown there)"}),
    Step("quorum describe", '"leader"', NO_KRAFT),
    Step(
        "quorum add-voter 9 --listener CONTROLLER://localhost:1",
        errors=NO_OTHER_VOTER,
        succeeds_in="kwire-admin/tests/kafka/test_quorum.py",
    ),
    Step("quorum remove-voter 9 --yes", errors=NO_OTHER_VOTER, succeeds_in="kwire-admin/tests/kafka/test_quorum.py"),
    Step("log-dirs list", '"path"', remembers={"directory": "path"}),
    Step("log-dirs move verbs:0 --broker 1 --to {directory}", "unchanged"),
    Step("offsets list verbs", '"offset": 0'),
    Step("offsets delete-records verbs --before latest --yes", "unchanged"),
    Step("groups reset-offsets batch --to earliest --topic verbs --yes", "reset"),
    Step("groups list batch", "batch"),
    Step("groups describe batch", '"state": "Empty"'),
    Step("groups lag batch --total", '"lag": 0'),
    Step("groups delete-offsets batch verbs:0 --yes", "deleted"),
    Step("groups delete batch --yes", "deleted"),
    Step("quotas set producer_byte_rate=1000 --user dora", "set"),
    Step("quotas get --user dora", "1000"),
    Step("quotas delete producer_byte_rate --user dora --yes", "deleted"),
    Step("users set dora --password-file -", "created", stdin="correct horse"),
    Step("users list dora", "SCRAM-SHA-512"),
    Step("users delete dora --yes", "deleted"),
    Step("configs audit", '"resource": "users/dora"', only=("nodes",)),
    Step("acls add topic:verbs --principal User:dora --operation read", "added", NO_AUTHORIZER),
    Step("acls list topic:verbs", "User:dora", NO_AUTHORIZER),
    Step("acls apply {folder}/acls.json --prune --yes", '"status": "added"', NO_AUTHORIZER),
    Step("acls delete --principal User:dora --yes", "deleted", NO_AUTHORIZER),
    Step("configs audit", '"resource": "acls/Topic/literal/verbs"', only=("nodes",)),
    Step("tokens create --hmac-file {folder}/hmac", "created", NO_TOKENS, remembers={"token": "name"}),
    Step("tokens list", "User:admin", NO_TOKENS),
    Step("tokens renew {token}", "renewed", NO_TOKENS),
    Step("tokens expire {token} --yes", "expired", NO_TOKENS),
    Step("transactions list --state Empty", "payments"),
    Step("transactions describe payments", '"state": "Empty"'),
    Step("transactions find-hanging verbs"),
    Step(
        "transactions abort verbs:0 --start-offset 0 --yes",
        errors=dict.fromkeys(KAFKA, "no open transaction of verbs-0 starts at 0"),
        succeeds_in="kwire-admin/tests/kafka/test_hanging_transactions.py",
    ),
    Step("zookeeper show", "is the controller", NO_ZOOKEEPER),
    Step("zookeeper decode /brokers/topics/verbs", '"topic_id"', NO_ZOOKEEPER),
    Step("tools list", '"get-offset-shell"'),
    Step("tools run get-offset-shell --topic verbs", "verbs", only=KAFKA),
    Step("tools run --broker any status", "controller", only=("nodes",)),
    Step("topics delete verbs --yes", "deleted"),
)


def run_every_verb(operator: Operator, kind: Kind, folder: Path) -> None:
    """Run the steps that a kind of cluster has.

    Args:
        folder: a folder for files.
    """
    (folder / "configs.json").write_text('{"kwire": 1}', encoding="utf-8")
    (folder / "acls.json").write_text(
        '[{"resource_type": "Topic", "resource_name": "verbs", "principal": "User:dora", "operation": "WRITE"}]',
        encoding="utf-8",
    )
    (folder / "reassignment.json").write_text(
        '{"version": 1, "partitions": [{"topic": "verbs", "partition": 0, "replicas": [1]}]}', encoding="utf-8"
    )
    feature, level = FEATURES.get(kind, ("group.version", 0))
    values: dict[str, object] = {"folder": folder, "feature": feature, "level": level, "next_level": level + 1}
    values |= {"token": "nosuch", "setting": "config.change.retention.ms" if kind == "nodes" else "log.retention.ms"}
    for step in STEPS:
        if kind not in step.kinds():
            continue
        command = step.command.format(**values)
        run = operator.run("-o", "json", *shlex.split(command), stdin=step.stdin)
        error = step.errors.get(kind)
        assert (run.code == 0, (error or step.prints) in run.out + run.err) == (error is None, True), (command, run)
        if step.remembers and run.code == 0:
            row = json.loads(run.out)[0]
            values |= {name: row[key] for name, key in step.remembers.items()}
