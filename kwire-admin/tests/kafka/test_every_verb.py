"""Every verb of the registry on real Kafka, with and without TLS and SCRAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from tests.cli.administration import Operator
from tests.cli.every_verb import KAFKA, Kind, run_every_verb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

FIXTURES: dict[Kind, str] = {"3.9.1": "kafka39", "4.4.0": "kafka44", "4.4.0 secured": "secured44"}


@pytest.mark.parametrize("kind", KAFKA)
def test_every_verb_of_kafka(
    kind: Kind, security: ClusterSecurity, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A process for each of the 50 verbs takes half a minute."""
    cluster: KafkaCluster = request.getfixturevalue(FIXTURES[kind])
    producer = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "payments"}
    config = None
    if kind == "4.4.0 secured":
        producer |= {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "admin",
            "sasl.password": security.users["admin"].reveal(),
            "ssl.ca.pem": security.authority.certificate,
        }
        config = security.write_properties(tmp_path / "scram.properties", "SCRAM-SHA-512")
    confluent_kafka.Producer(producer).init_transactions(60)

    run_every_verb(Operator(cluster.bootstrap, config), kind, tmp_path)
