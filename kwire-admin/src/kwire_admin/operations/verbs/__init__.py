"""The verbs of the command. Each noun has a module with its name: `create` in `topics.py` is `kafka topics create`."""

from __future__ import annotations

from kwire_admin.operations.registry import Noun

NOUNS = {
    "acls": Noun("List, add, and delete ACLs, one by one or as a document."),
    "brokers": Noun("List brokers, show their API versions, and unregister dead brokers."),
    "cluster": Noun("Describe a cluster and check its health, or run a cluster for tests on this machine."),
    "configs": Noun("Get and set configs, one by one or for a whole cluster as a document."),
    "elections": Noun("Elect leaders of partitions."),
    "features": Noun("Show, raise, and lower the levels of the features of a cluster (KIP-584)."),
    "groups": Noun(
        "List, describe, and delete consumer groups, show their lag, and reset their offsets.",
        ("consumer-groups", "consumer-group"),
    ),
    "log-dirs": Noun(
        "Show the used and free space of the log directories of brokers, and move replicas between them.",
        ("logdirs", "logdir"),
    ),
    "offsets": Noun("List the offsets of partitions, also at a time, and delete the records before an offset."),
    "partitions": Noun("Add partitions to topics."),
    "quorum": Noun("Show the KRaft quorum, and add and remove its voters."),
    "quotas": Noun(
        "Get, set, and delete the quotas of users, client ids, and IP addresses.", ("client-quotas", "client-quota")
    ),
    "reassign-partitions": Noun(
        "Move partitions to other brokers: make a plan, execute it, watch it, and roll it back.",
        ("reassign",),
        needs_asyncio=True,  # executions last for hours, and open clients beside the first
    ),
    "tokens": Noun("List, create, renew, and expire delegation tokens.", ("delegation-tokens", "delegation-token")),
    "topics": Noun("List, describe, create, change, and delete topics."),
    "transactions": Noun("List and describe transactions, and find and end hanging transactions (KIP-664)."),
    "users": Noun(
        "List users with SCRAM passwords, set their passwords, and delete them.", ("scram-users", "scram-user")
    ),
}
"""The nouns of kwire-admin by name."""
