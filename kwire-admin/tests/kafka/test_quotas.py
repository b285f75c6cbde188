"""Client quotas of real clusters, through the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient, ClientQuotaEntity, SpecialName
from tests.cli.administration import Operator

if TYPE_CHECKING:
    from tests.real_kafka import Kafka44, KafkaCluster

pytestmark = pytest.mark.change


def quotas(user: str | None, client_id: str | None, **values: float) -> dict[str, Any]:
    """Return quotas of an entity as the command prints them."""
    return {"user": user, "client_id": client_id, "ip": None, "quotas": values}


def test_command_sets_gets_and_deletes_quotas(administrator: Operator) -> None:
    operator = administrator
    alice = ("--user", "alice", "--client-id", "<default>")

    dry = operator.json("quotas", "set", "producer_byte_rate=1000000", *alice, "--dry-run")
    assert [row["status"] for row in dry] == ["would be set"]
    assert operator.json("quotas", "get", "--user", "alice") == []
    changed = operator.json("quotas", "set", "producer_byte_rate=1000000", "request_percentage=12.5", *alice)
    assert changed[1] == {
        "user": "alice",
        "client_id": "<default>",
        "ip": None,
        "key": "request_percentage",
        "value": 12.5,
        "status": "set",
        "attempts": 1,
    }
    operator.json("quotas", "set", "consumer_byte_rate=7", "--user", "alice")
    both = quotas("alice", "<default>", producer_byte_rate=1e6, request_percentage=12.5)
    assert operator.json("quotas", "get", "--user", "alice") == [quotas("alice", None, consumer_byte_rate=7), both]
    assert operator.json("quotas", "get", "--user", "alice", "--strict") == [
        quotas("alice", None, consumer_byte_rate=7)
    ]
    assert operator.json("quotas", "get", "--client-id", "<default>") == [both]
    assert "<default>" in operator.run("quotas", "get").out

    [refused] = operator.json("quotas", "set", "nosuch_rate=7", "--user", "alice", code=1)
    assert (refused["name"], refused["error"]["name"]) == ("user alice", "INVALID_REQUEST")
    unknown = operator.run("quotas", "delete", "nosuch_rate", "--user", "alice", "--yes")
    assert unknown.code == 2
    assert "user alice has no quota nosuch_rate: it has consumer_byte_rate" in unknown.err
    unconfirmed = operator.run("quotas", "delete", *alice)
    assert unconfirmed.code == 2
    assert (
        "Delete producer_byte_rate=1000000, request_percentage=12.5 of user alice, client-id <default>?"
        in unconfirmed.err
    )

    [dry_deletion] = operator.json("quotas", "delete", "consumer_byte_rate", "--user", "alice", "--dry-run")
    assert (dry_deletion["status"], dry_deletion["value"]) == ("would be deleted", None)
    assert len(operator.json("quotas", "get", "--user", "alice")) == 2
    assert len(operator.json("quotas", "delete", *alice, "--yes")) == 2
    assert operator.json("quotas", "delete", "--user", "alice", "--yes")[0]["status"] == "deleted"
    assert operator.json("quotas", "get", "--user", "alice") == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["set", "producer_byte_rate=1"], "give at least one of --user, --client-id, and --ip"),
        (["set", "--user", "alice"], "name at least one quota"),
        (["set", "producer_byte_rate=1MB", "--user", "alice"], "'producer_byte_rate=1MB' is not a quota"),
        (["set", "producer_byte_rate=inf", "--user", "alice"], "'producer_byte_rate=inf' is not a quota"),
    ],
)
def test_wrong_arguments_are_named(kafka44: Kafka44, arguments: list[str], sentence: str) -> None:
    run = Operator(kafka44.bootstrap).run("quotas", *arguments)

    assert (run.code, run.out) == (2, "")
    assert sentence in run.err


async def test_client_filters_and_alters_several_entities(cluster: KafkaCluster) -> None:
    default_user, address = ClientQuotaEntity(user=SpecialName.DEFAULT), ClientQuotaEntity(ip="192.0.2.7")
    async with await AdminClient.open(cluster.bootstrap) as admin:
        values = {default_user: {"controller_mutation_rate": 3.5}, address: {"connection_creation_rate": 10.0}}
        (await admin.alter_client_quotas(values)).raise_first()
        await admin.wait_until_client_quotas(values)
        of_users = await admin.describe_client_quotas(ClientQuotaEntity(user=SpecialName.ANY))
        assert of_users[default_user] == {"controller_mutation_rate": 3.5}
        assert address not in of_users
        assert await admin.describe_client_quotas(address) == {address: {"connection_creation_rate": 10.0}}
        removed = {entity: dict.fromkeys(quotas) for entity, quotas in values.items()}
        (await admin.alter_client_quotas(removed)).raise_first()
        await admin.wait_until_client_quotas(removed)
        assert not values.keys() & (await admin.describe_client_quotas()).keys()
