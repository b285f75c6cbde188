"""`kafka topics list`."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire.client.admin import AdminError, TopicListing
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.topic_partitions import topics_marked_for_deletion

if TYPE_CHECKING:
    from kwire.client.admin.backend import TopicListings, Topics


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """A topic in a list.

    Attributes:
        name: the name of the topic.
        partitions: the number of partitions.
        replication_factor: the number of replicas of the first partition.
        internal: true if Kafka itself uses the topic.
        topic_id: the id of the topic; None without --details, or if the cluster has no ids.
        configs: the configs that the topic overrides; None without --details.
        marked_for_deletion: true if the controller has yet to delete the topic; None on Kafka, which does not tell.
    """

    name: str
    partitions: int
    replication_factor: int | None
    internal: bool
    topic_id: UUID | None = field(metadata=column(if_known=True))
    configs: Mapping[str, str] | None = field(metadata=column(if_known=True))
    marked_for_deletion: bool | None = field(default=None, metadata=column(if_known=True))


@operation(
    nothing="No topics.",
    lists="topics",
    examples=("topics list", "topics list 'orders-*' --details", "topics list --internal --output json"),
)
async def list_(
    run: Run,
    pattern: Annotated[str | None, Argument("Only topics that match, with * and ? as wildcards.")] = None,
    internal: Annotated[bool, Option("Include internal topics, such as __consumer_offsets.")] = False,
    details: Annotated[bool, Option("Include the id of each topic, and the configs that it overrides.")] = False,
) -> Rows[TopicSummary]:
    """List topics."""
    rows: Rows[TopicSummary] = []
    marked = await topics_marked_for_deletion(run)
    topics: Topics | TopicListings = await (
        run.admin.describe_topics(configs=True) if details else run.admin.topic_listings()
    )
    for name in sorted(topics):
        topic = topics[name]
        if pattern is not None and not _matches(name, pattern):
            continue
        if isinstance(topic, AdminError):
            rows.append(Failure(name, topic))
        elif internal or not topic.is_internal:
            is_marked = None if marked is None else name in marked
            if isinstance(topic, TopicListing):
                rows.append(TopicSummary(*topic, None, None, is_marked))
            else:
                rows.append(TopicSummary(*topic.listing, topic.topic_id, topic.configs, is_marked))
    from kwire_admin.operations.verbs.visibility import warn_if_hidden

    await warn_if_hidden(run, len(rows), "topics", filtered=pattern is not None)
    return rows


def _matches(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase  # it compiles patterns, which a list of all topics does without

    return fnmatchcase(name, pattern)
