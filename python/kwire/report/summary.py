"""What is wrong now, since when: the one sentence that a page begins with.

Rules of this file: "now" is the end of what was polled. An outage that lasts is named before its consequences; what no
incident explains is told as it is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from kwire.report.phrasing import OUTAGES, clock, counted, group, lasting, lower_first, number, percent, title

if TYPE_CHECKING:
    from kwire.report.cluster_history import ClusterStory, Incident

Level = Literal["well", "watch", "trouble"]

UNFAIR = 1.5
"""Times its fair share of leaders, or the inverse: what is worth a word."""


class Verdict(NamedTuple):
    """``level``: how urgent; ``headline``: one sentence; ``details``: more of them."""

    level: Level
    headline: str
    details: tuple[str, ...]


def verdict(story: ClusterStory) -> Verdict:
    """Of the end of a story."""
    open_outages = [each for each in story.incidents if each.ended is None and group(each) == "outage"]
    offline, lacking = story.now["offline"], story.now["under_replicated"]
    electing = story.now["electing"]
    counts = [
        f"{counted(offline, 'partition')} without a leader" if offline else "",
        f"{counted(electing, 'partition')} electing one" if electing else "",
        f"{counted(lacking, 'partition')} lacking a replica" if lacking else "",
    ]
    said = ", ".join(each for each in counts if each)
    remarks = _remarks(story)
    gone = [each for each in open_outages if each.kind in OUTAGES]
    silent = [each for each in story.brokers if each.silent_since is not None]
    explained = {each.broker for each in gone}
    unexplained = [each for each in silent if each.id not in explained]
    if gone or offline:
        headline = _outages(gone, story) if gone else f"{said[:1].upper()}{said[1:]}"
        if gone and said:
            headline += f": {said}"
        elif not gone:
            headline += f", since {clock(_oldest(story, 'offline'), story)}"
        others = [
            f"Broker {each.id} does not answer since {clock(each.silent_since or 0, story)}." for each in unexplained
        ]
        return Verdict("trouble", headline + ".", (*others, *remarks))
    if lacking or electing or silent or open_outages:
        parts = []
        if silent:
            since = min(each.silent_since or story.ended for each in silent)
            named = ", ".join(str(each.id) for each in silent[:5])
            parts.append(f"Broker{'' if len(silent) == 1 else 's'} {named} silent since {clock(since, story)}")
        parts += [f"{title(each)}, since {clock(each.began, story)}" for each in open_outages]
        if lacking:
            parts.append(f"{counted(lacking, 'partition')} lack a replica since {clock(_oldest(story, ''), story)}")
        if electing:
            parts.append(f"{counted(electing, 'partition')} electing a leader")
        headline = "; ".join([parts[0], *map(lower_first, parts[1:])])
        return Verdict("watch", headline + ".", remarks)
    if not story.partitions:
        return Verdict("watch", "No partition was ever told of.", remarks)
    answering = sum(1 for each in story.brokers if each.polls)
    if answering == 1:
        all_well = f"The one broker asked answers, and all {number(story.partitions)} partitions are led and in sync."
    else:
        all_well = f"All {answering} brokers answer, and all {number(story.partitions)} partitions are led and in sync."
    return Verdict("well", "Nothing is wrong now.", (all_well, *_last_outage(story), *remarks))


def _outages(gone: list[Incident], story: ClusterStory) -> str:
    first, *more = [f"{title(each)} at {clock(each.began, story)} and is not back" for each in gone[:3]]
    told = "; ".join([first, *map(lower_first, more)])
    return told + (f"; and {len(gone) - 3} more brokers are gone" if len(gone) > 3 else "")


def _oldest(story: ClusterStory, what: str) -> int:
    return min((since for _, _, flag, since in story.troubled if not what or flag == what), default=story.ended)


def _last_outage(story: ClusterStory) -> tuple[str, ...]:
    over = [each for each in story.incidents if group(each) == "outage" and each.ended is not None]
    if not over:
        return ()
    last = max(over, key=lambda each: each.ended or 0)
    assert last.ended is not None
    ago = lasting(story.ended - last.ended)
    what = f"{lower_first(title(last))} at {clock(last.began, story)}"
    return (f"The last outage: {what}; all was well again {ago} before the end.",)


def _remarks(story: ClusterStory) -> tuple[str, ...]:
    """What is not wrong, and worth a look."""
    remarks = []
    if story.now["under_min_isr"]:
        remarks.append(f"{counted(story.now['under_min_isr'], 'partition')} below min.insync.replicas.")
    fair = [each for each in story.brokers if each.leaders_fair >= 1]
    if fair:
        furthest = max(fair, key=lambda each: abs(each.leaders - each.leaders_fair) / each.leaders_fair)
        share = furthest.leaders / furthest.leaders_fair
        if share > UNFAIR or share < 1 / UNFAIR:
            remarks.append(
                f"Worth a look: broker {furthest.id} leads {counted(furthest.leaders, 'partition')}, its fair share is "
                f"{number(furthest.leaders_fair)}; {number(story.now['not_preferred'])} partitions "
                f"({percent(story.now['not_preferred'], story.partitions)}) are not led by their preferred replica."
            )
    if story.unreadable:
        remarks.append(f"{counted(story.unreadable, 'answer')} could not be read.")
    return tuple(remarks)
