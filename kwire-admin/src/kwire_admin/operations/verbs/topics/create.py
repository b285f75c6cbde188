"""`kafka topics create`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire.client.admin import NewTopic
from kwire_admin.operations.argument_checks import Choice
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import (
    CONFIG,
    REPLICA_ASSIGNMENT,
    Argument,
    Danger,
    Option,
    check_collisions,
    parse_assignment,
    parse_configs,
)
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, changes, wait_if_visible


@operation(
    Danger.CHANGES,
    waits=True,
    choices=(
        Choice(("replica_assignment", "partitions"), least=0, most=1),
        Choice(("replica_assignment", "replication_factor"), least=0, most=1),
    ),
    examples=(
        "topics create orders --partitions 12 --replication-factor 3 --config retention.ms=86400000",
        "topics create audit --replica-assignment 1:2,2:3",
    ),
)
async def create(
    run: Run,
    names: Annotated[list[str], Argument("Names of the topics.", "NAME", item="topic")],
    partitions: Annotated[
        int | None,
        Option(
            "Number of partitions [default on Apache Kafka: set by the cluster].",
            "N",
            short="-p",
            minimum=1,
            maximum=2**31 - 1,
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        Option(
            "Number of replicas of each partition [default on Apache Kafka: set by the cluster].",
            "N",
            short="-r",
            minimum=1,
            maximum=2**15 - 1,
        ),
    ] = None,
    config: Annotated[list[str], Option("A config of the topics.", "KEY=VALUE", "topic-configs", syntax=CONFIG)] = [],
    replica_assignment: Annotated[
        str | None,
        Option(
            "The brokers of each partition, in place of the numbers, such as 1:2,2:3.",
            "B:B,B:B",
            syntax=REPLICA_ASSIGNMENT,
        ),
    ] = None,
) -> Rows[ItemChange]:
    """Create topics, and wait until every broker reports them."""
    check_collisions(names)
    assignment = parse_assignment(replica_assignment)
    topic = NewTopic(
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=assignment,
        configs=parse_configs(config),
    )
    outcomes = await run.admin.create_topics(dict.fromkeys(names, topic), validate_only=run.dry_run)
    created = [name for name, error in outcomes.items() if error is None]
    if created and run.wait and not run.dry_run:
        waiting = run.admin.wait_until_created(created, timeout=run.wait, on_progress=run.on_progress)
        await wait_if_visible(run, waiting)
    return changes(outcomes, "created", dry_run=run.dry_run)
