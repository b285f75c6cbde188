"""Topics: create, alter, delete, list, and describe them.

Examples:
    >>> from kwire.client.admin import NewTopic, TopicChange
    >>> admin.create_topics({"orders": NewTopic(partitions=2, configs={"retention.ms": "86400000"})}).raise_first()
    >>> admin.wait_until_created({"orders": 2})
    >>> admin.create_topics({"orders": NewTopic(partitions=2)})["orders"].name
    'TOPIC_ALREADY_EXISTS'
    >>> admin.alter_topics({"orders": TopicChange(partitions=3)}).raise_first()
    >>> admin.wait_until_created({"orders": 3})
    >>> topic = admin.describe_topics(["orders"], configs=True)["orders"]
    >>> topic.configs
    {'retention.ms': '86400000'}
    >>> [partition.leader for partition in topic.partitions]
    [1, 1, 1]
    >>> admin.delete_topics(["orders"]).raise_first()
    >>> admin.wait_until_deleted(["orders"])
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import topic_descriptions
from kwire.client.admin.answer import first_error_code
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.errors import AdminError, ChangeTimeout, NotSupported
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.targets import CONTROLLER
from kwire.client.admin.topic_descriptions import read_metadata
from kwire.client.admin.tries import FIRST_PAUSE, back_off
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.session import AdminSession, TopicListings, Topics
    from kwire.client.admin.values import NewTopic, TopicChange
    from kwire.messages.kafka.create_topics import CreatableTopic
    from kwire.messages.kafka.delete_topics import DeleteTopicsRequest


async def create_topics(
    admin: AdminSession, topics: Mapping[str, NewTopic], *, validate_only: bool = False
) -> Outcomes:
    """Create topics. The command is never repeated after a lost response.

    Errors of a topic on Kafka: 36 it exists already; 17, 37 to 40 invalid arguments. In the dialect of the drafts:
    1001 it exists already; 1002, 1004, 1005, 1006 invalid arguments; 1010 invalid name.

    Args:
        topics: the topics by name.
        validate_only: check the request and create nothing.

    Raises:
        OutcomeUnknown: the response was lost. This applies to all commands that are not repeated.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.create_topics(admin, topics, validate_only=validate_only)
    from kwire.client.admin.reassignment_checks import check_new_topics
    from kwire.messages.kafka.create_topics import CreateTopicsRequest

    refused = await check_new_topics(admin, topics)
    accepted = {name: topic for name, topic in topics.items() if name not in refused}
    if not accepted:
        return Outcomes(refused)
    request = CreateTopicsRequest(
        topics=tuple(_creatable(name, topic) for name, topic in accepted.items()),
        timeout_ms=admin.router.timeout_ms,
        validate_only=validate_only,
    )
    answer = await admin.router.command(request, error_code=first_error_code("topics"), repeatable=validate_only)
    outcomes = answer.outcomes(((topic.name, topic) for topic in answer.response.topics), accepted)
    return Outcomes({**outcomes, **refused}, outcomes.attempts) if refused else outcomes


def _creatable(name: str, topic: NewTopic) -> CreatableTopic:
    from kwire.messages.kafka.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig

    assigned = bool(topic.assignment)
    return CreatableTopic(
        name=name,
        num_partitions=-1 if assigned or topic.partitions is None else topic.partitions,
        replication_factor=-1 if assigned or topic.replication_factor is None else topic.replication_factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=tuple(ids))
            for index, ids in sorted(topic.assignment.items())
        ),
        configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()),
    )


async def alter_topics(
    admin: AdminSession, topics: Mapping[str, TopicChange], *, validate_only: bool = False
) -> Outcomes:
    """Change topics.

    A cluster of the drafts changes configs, replicas, and partitions of a topic in one request. On Kafka they are
    requests of their own, in this order; the first error of a topic ends its changes, and its text says which
    changes were made before.

    Errors of a topic on Kafka: 3 unknown topic; 37 fewer partitions than before; 38 to 40 invalid arguments. In
    the dialect of the drafts: 3; 1003 fewer partitions; 1004 to 1006 invalid arguments; 1009 a reassignment is in
    progress.

    Args:
        topics: the changes by topic.
        validate_only: check the request and change nothing. Kafka cannot check changes of replicas, so the client
            checks them.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.alter_topics(admin, topics, validate_only=validate_only)
    from kwire.client.admin import topic_alteration

    return await topic_alteration.alter_topics(admin, topics, validate_only=validate_only)


async def delete_topics(admin: AdminSession, names: Iterable[str], *, validate_only: bool = False) -> Outcomes:
    """Delete topics. The command is never repeated after a lost response.

    Errors of a topic: 3 unknown topic; 1012 the topic is named twice (drafts).

    Args:
        names: the topics.
        validate_only: check that the topics exist, and delete nothing.
    """
    names = strings_tuple(names)
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.delete_topics(admin, names, validate_only=validate_only)
    from kwire.declare.fields import zero_uuid
    from kwire.messages.kafka.delete_topics import DeleteTopicsRequest, DeleteTopicState

    if validate_only:
        described = await topic_descriptions.describe(admin, names) if names else {}
        checked = {name: topic if isinstance(topic, AdminError) else None for name, topic in described.items()}
        return await check_outcomes(admin, DeleteTopicsRequest, Outcomes(checked))
    request = DeleteTopicsRequest(
        topic_names=names,
        topics=tuple(DeleteTopicState(name=name, topic_id=zero_uuid()) for name in names),
        timeout_ms=admin.router.timeout_ms,
    )
    answer = await admin.router.command(request, error_code=first_error_code("responses"), adapt=_with_names_only)
    return answer.outcomes(((response.name or "", response) for response in answer.response.responses), names)


def _with_names_only(request: DeleteTopicsRequest, version: int) -> DeleteTopicsRequest:
    """Return a request without topic ids, which versions below 6 do not have."""
    from kwire.messages.kafka.delete_topics import DeleteTopicsRequest

    return (
        request if version >= 6 else DeleteTopicsRequest(topic_names=request.topic_names, timeout_ms=request.timeout_ms)
    )


async def list_topics(admin: AdminSession) -> list[str]:
    """Return the sorted names of all topics, as one broker reports them."""
    if admin.dialect == "kip4":
        return sorted(await topic_descriptions.describe(admin, ()))
    response = await read_metadata(admin.router, None)
    return sorted(topic.name for topic in response.topics if topic.name is not None)


async def topic_listings(admin: AdminSession) -> TopicListings:
    """Return the sizes of all topics by name, as one broker reports them. For many topics, it is a fifth of the work of
    `describe_topics`.
    """
    if admin.dialect == "kafka":
        return topic_descriptions.listed_topics(await read_metadata(admin.router, None))
    topics = await topic_descriptions.describe(admin, ())
    return {name: topic if isinstance(topic, AdminError) else topic.listing for name, topic in topics.items()}


async def list_topics_marked_for_deletion(admin: AdminSession) -> list[str]:
    """Return the sorted names of topics that are being deleted, as the controller reports them.

    A deletion waits for the brokers of all replicas.

    Raises:
        NotSupported: the cluster is one of Apache Kafka, which does not report them to clients: its brokers leave
            such topics out of their metadata. With ZooKeeper, `kafka zookeeper show` reads them there.
        AdminError: the controller cannot list them.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.list_topics_marked_for_deletion(admin)
    raise NotSupported(
        "listing topics marked for deletion",
        "its brokers do not report them; use kafka zookeeper show --zookeeper HOST:PORT if it has ZooKeeper",
    )


async def describe_topics(
    admin: AdminSession, names: Iterable[str] = (), *, configs: bool = False, lag: bool = False
) -> Topics:
    """Return topics by name, as one broker reports them. An unknown topic is an AdminError with code 3.

    Args:
        names: the topics; all topics if there are none.
        configs: include the configs that each topic overrides. The drafts always include them.
        lag: include the lag of each replica: Kafka needs a request to each broker. The drafts always include it.
    """
    topics = await topic_descriptions.describe(admin, strings_tuple(names), configs=configs)
    if not lag or admin.dialect == "kip4":
        return topics
    from kwire.client.admin.replica_lag import with_lag

    return await with_lag(admin.router, topics)


async def wait_until_created(
    admin: AdminSession,
    topics: Iterable[str] | Mapping[str, int | NewTopic],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports these topics with a leader for each partition.

    Args:
        topics: the names of the topics, or a mapping to their numbers of partitions, or the argument of
            `create_topics`.
        timeout: seconds to wait.
        on_progress: called after each round of requests.

    Raises:
        ChangeTimeout: a broker does not report the change in time. This applies to all methods that wait.
        TypeError: a mapping has other values.
    """
    from kwire.client.admin import completion  # most programs do not wait

    counts = topics if isinstance(topics, Mapping) else dict.fromkeys(strings_tuple(topics))
    conditions = {name: completion.is_created(completion.expected_count(count)) for name, count in counts.items()}
    await completion.wait_until(admin, "created", conditions, timeout, on_progress)


async def wait_until_deleted(
    admin: AdminSession,
    names: Iterable[str],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until no broker reports these topics, and their names are free for new topics.

    See `wait_until_created` for the other arguments.
    """
    from kwire.client.admin import completion
    from kwire.client.admin.quorum import has_zookeeper

    deadline = admin.router.metadata.clock() + timeout
    conditions = dict.fromkeys(strings_tuple(names))
    await completion.wait_until(admin, "deleted", conditions, timeout, on_progress)
    if conditions and admin.dialect == "kafka" and await has_zookeeper(admin):
        # Brokers forget a topic before its znodes are deleted, and its name is taken until then.
        await _wait_until_free(admin, tuple(conditions), timeout, deadline)


async def _wait_until_free(admin: AdminSession, names: Sequence[str], timeout: float, deadline: float) -> None:
    """Wait until the controller would create topics with these names, or refuses them for another reason.

    Raises:
        ChangeTimeout: a name is taken at the deadline.
    """
    from kwire.messages.kafka.create_topics import CreatableTopic, CreateTopicsRequest

    new = tuple(
        CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=()) for name in names
    )
    request = CreateTopicsRequest(topics=new, timeout_ms=admin.router.timeout_ms, validate_only=True)
    pause = FIRST_PAUSE
    while True:
        try:
            response = (await admin.router.read(request, CONTROLLER, first_error_code("topics"))).response
        except NoCommonVersion:  # such a cluster creates no topics
            return
        taken = [topic.name for topic in response.topics if topic.error_code == ErrorCode.TOPIC_ALREADY_EXISTS]
        if not taken:
            return
        if admin.router.metadata.clock() >= deadline:
            raise ChangeTimeout("deleted", timeout, {"the controller": [f"still has {name}" for name in taken]})
        pause = await back_off(pause)
