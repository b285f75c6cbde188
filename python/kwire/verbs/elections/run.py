"""`kafka elections run`."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import Annotated

from kwire.client.admin import AdminError, Outcomes, TopicDescription
from kwire.verbs.changes import Change, InvalidArgument, changes
from kwire.verbs.topic_partitions import parse_partition
from kwire.verbs.verb import Argument, Danger, Option, Rows, Run, verb


class ElectionType(StrEnum):
    """Which replica may become the leader."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


@verb(
    Danger.DESTROYS,
    examples=("elections run", "elections run orders payments:3", "elections run orders:0 --type unclean --yes"),
)
async def run(
    run: Run,
    partitions: Annotated[
        list[str], Argument("Topics, or partitions as TOPIC:N [default: all].", "TOPIC[:N]", "topics")
    ],
    type: Annotated[
        ElectionType,
        Option("preferred: the first replica, if it is in sync. unclean: any live one; records can be lost."),
    ] = ElectionType.PREFERRED,
) -> Rows[Change]:
    """Elect leaders of partitions, and wait until every broker reports preferred ones."""
    unclean = type is ElectionType.UNCLEAN
    wanted = _by_topic(partitions)
    if unclean and wanted is None:
        raise InvalidArgument("name the partitions of an unclean election")
    if run.dry_run:
        return changes(await _candidates(run, wanted, unclean=unclean), "elected", dry_run=True)
    if unclean:
        run.confirm(f"Elect replicas of {', '.join(partitions)} that are not in sync, and lose their missing records?")
    outcomes = await run.admin.elect_leaders(wanted, unclean=unclean)
    elected = wanted is None or all(error is None for error in outcomes.values())
    if run.wait and elected and not unclean:
        await run.admin.wait_until_preferred(wanted, timeout=run.wait, on_progress=run.on_progress)
    return changes(outcomes, "elected", dry_run=False)


def _by_topic(texts: list[str]) -> dict[str, list[int]] | None:
    """Return partitions by topic, empty for all partitions of a topic; None for all topics."""
    found: dict[str, list[int]] = defaultdict(list)
    whole = {text for text in texts if ":" not in text}
    for text in texts:
        if ":" not in text:
            found[text] = []
            continue
        topic, index = parse_partition(text)
        if topic not in whole and index not in found[topic]:
            found[topic].append(index)
    return dict(found) or None


async def _candidates(run: Run, wanted: dict[str, list[int]] | None, *, unclean: bool) -> Outcomes:
    """Return the partitions that an election would change."""
    found: dict[str, AdminError | None] = {}
    for name, topic in (await run.admin.describe_topics(wanted or ())).items():
        if not isinstance(topic, TopicDescription):
            found[name] = topic
            continue
        for each in topic.partitions:
            named = not wanted or not wanted[name] or each.partition in wanted[name]
            needed = each.leader is None if unclean else each.replicas[:1] != (each.leader,)
            if named and needed:
                found[f"{name}-{each.partition}"] = None
    return Outcomes(found)
