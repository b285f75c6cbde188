"""`kafka elections`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum

from kwire._util.light_typing import Annotated
from kwire.client.admin import NotSupported, Outcomes
from kwire_admin.operations.changes import ItemChange, carry_out, changes
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Choice, Danger, Option
from kwire_admin.operations.partitions import PARTITIONS, AllOrNamedPartitions, parse_partition
from kwire_admin.operations.run import Run


class ElectionType(StrEnum):
    """The replicas that may become the leader."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


@operation(
    Danger.CHANGES,
    dangers={ElectionType.UNCLEAN.value: Danger.DESTROYS},
    waits=True,
    choices=(Choice(("partitions",), condition=("type", ElectionType.UNCLEAN.value)),),
    nothing="All preferred replicas lead.",
    examples=("elections run", "elections run orders payments:3", "elections run orders:0 --type unclean --yes"),
)
async def run(
    run: Run,
    partitions: AllOrNamedPartitions,
    type: Annotated[
        ElectionType,
        Option("preferred: the first replica, if it is in sync. unclean: any live one; records can be lost."),
    ] = ElectionType.PREFERRED,
) -> Rows[ItemChange]:
    """Elect leaders of partitions, and wait until every broker reports preferred ones."""
    unclean = type is ElectionType.UNCLEAN
    named = _by_topic(partitions)
    if unclean and run.admin.dialect == "kip4":
        raise NotSupported("unclean leader election", "the drafts of KIP-4 elect preferred leaders only")

    async def elect(items: Sequence[str], *, validate_only: bool = False) -> Outcomes:
        if validate_only:
            return await run.admin.elect_leaders(named, unclean=unclean, validate_only=True)
        by_topic: dict[str, list[int]] = defaultdict(list)
        for topic, _, index in (elected.rpartition("-") for elected in items):
            by_topic[topic].append(int(index))
        outcomes = await run.admin.elect_leaders(by_topic, unclean=unclean)
        if run.wait and not unclean and not outcomes.errors:
            await run.admin.wait_until_preferred(by_topic, timeout=run.wait, on_progress=run.on_progress)
        return outcomes

    lossy = f"Elect replicas of {', '.join(partitions)} that are not in sync, and lose their missing records?"
    outcomes = await carry_out(run, partitions, lossy if unclean else "", elect)
    if named is None:
        outcomes = outcomes.without(outcomes.unchanged)
    return changes(outcomes, "elected", dry_run=run.dry_run)


def _by_topic(texts: list[str]) -> dict[str, list[int]] | None:
    """Return partitions by topic, empty for all partitions of a topic; None for all topics."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    whole = {text for text in texts if ":" not in text}
    for text in texts:
        if ":" not in PARTITIONS.match(text).string:
            by_topic[text] = []
            continue
        topic, index = parse_partition(text)
        if topic not in whole and index not in by_topic[topic]:
            by_topic[topic].append(index)
    return dict(by_topic) or None
