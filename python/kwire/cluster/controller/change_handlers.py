"""What the controller does when something in ZooKeeper may have changed: look, and make the rest follow.

Rules of this file: one function for each thing that is watched. Each reads with a new watch, compares with the state,
takes over what is new, and lets leaders, moves and deletions follow. All may be called at any time. A read whose
connection is lost raises ConnectionLost: the caller has everything looked at again.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from kwire.cluster.controller.fenced_writer import Conflict, Deposed
from kwire.cluster.controller.pending_operations import delete_marked, elect_preferred, reassign
from kwire.cluster.zookeeper.admin_requests import Reassignment
from kwire.cluster.zookeeper.configs import ConfigChange
from kwire.cluster.zookeeper.controllers import Controller as ControllerNode
from kwire.cluster.zookeeper.controllers import ControllerEpoch
from kwire.cluster.zookeeper.errors import NoNode, ZnodeError
from kwire.cluster.zookeeper.notifications import IsrChange
from kwire.cluster.zookeeper.operations import Delete
from kwire.cluster.zookeeper.topics import DeletionMarker, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.cluster.controller.controller_context import ControllerContext

__all__ = ["look"]

log = logging.getLogger("kwire.cluster.controller")

TOPICS_BELOW = f"{TopicRegistration.root}/"


async def look(office: ControllerContext, what: str) -> None:
    """At this path, or at everything. Errors: Deposed, StoreError."""
    if what == "":
        await everything(office)
    elif what == ControllerNode.path():
        await office_itself(office)
    elif what.startswith("/brokers/ids"):
        await brokers(office)
    elif what == TopicRegistration.root:
        await topic_names(office)
    elif what.startswith(TOPICS_BELOW):
        below = [what, *office.queue.take_looks(TOPICS_BELOW)]
        await topics(office, [path.removeprefix(TOPICS_BELOW) for path in below])
    elif what == DeletionMarker.root:
        await deletions(office)
    elif what == Reassignment.path():
        await reassignments(office)
    elif what == IsrChange.root:
        await isr_changes(office)
    elif what == ConfigChange.root:
        await config_changes(office)
    else:
        await elect_preferred(office)


async def everything(office: ControllerContext) -> None:
    """Build the state anew, and finish what was begun."""
    began = time.perf_counter()
    await office_itself(office)
    await _note_changes(office)
    brokers = await office.loader.brokers()
    names = await office.loader.topic_names()
    marked = await office.store.children(DeletionMarker.root, office.watch)
    loaded = await office.loader.topics(names)
    leaving = frozenset(
        broker
        for broker in office.cluster.leaving
        if broker in brokers and brokers[broker].epoch == office.cluster.brokers[broker].epoch
    )
    office.doubtful.clear()
    office.unwatched.clear()
    office.with_cluster(
        brokers=brokers,
        topics=type(office.cluster.topics)().replaced(loaded.topics),
        leaving=leaving,
        marked=frozenset(marked),
        unreadable=frozenset(loaded.unreadable),
    )
    log.info(
        "controller epoch %d: %d brokers, %d topics, %d partitions read in %.3f s",
        office.term.epoch,
        len(brokers),
        len(loaded.topics),
        office.cluster.topics.partition_count,
        time.perf_counter() - began,
    )
    await _read_reassignment(office)
    await office.settle()
    office.announcer.everything(office.cluster)
    await reassign(office)
    await elect_preferred(office)
    await delete_marked(office)
    await isr_changes(office)


async def office_itself(office: ControllerContext) -> None:
    """Whether this is still the controller. Errors: Deposed."""
    stat = await office.store.exists(ControllerNode.path(), office.watch)
    epoch = await office.store.exists(ControllerEpoch.path())
    if stat is None or stat.ephemeral_owner != office.store.session_id:
        raise Deposed("the office is not ours any more")
    if epoch is None or epoch.version != office.term.epoch_version:
        raise Deposed("there is a later controller epoch")


async def brokers(office: ControllerContext) -> None:
    """Who came, who died, who came back as another."""
    known = office.cluster.brokers
    found = await office.loader.brokers()
    if found == known:
        return
    same = {broker for broker in found if broker in known and found[broker].epoch == known[broker].epoch}
    log.info(
        "brokers: came %s, died %s",
        sorted(found.keys() - same),
        sorted(known.keys() - same),
    )
    office.with_cluster(brokers=found, leaving=office.cluster.leaving & same)
    await office.settle()
    office.announcer.changed(office.cluster, ())
    await reassign(office)
    await delete_marked(office)


async def topic_names(office: ControllerContext) -> None:
    """Topics that others made or removed."""
    names = set(await office.loader.topic_names())
    known = {topic.name for topic in office.cluster.topics} | office.cluster.unreadable
    own = sorted(office.unwatched & names)
    office.unwatched.clear()
    await topics(office, sorted((names - known).union(own)))
    gone = known - names
    if gone:
        office.take_over(gone=gone)
        office.with_cluster(unreadable=office.cluster.unreadable.difference(gone))


async def topics(office: ControllerContext, names: Sequence[str]) -> None:
    """Topics that somebody wrote; our own writes are seen here as well, and are nothing new."""
    known = office.cluster.topics
    sure = [name for name in names if name not in office.doubtful and name in known]
    changed = [name for name in names if name not in sure]
    nodes = await office.store.get_many([TopicRegistration.path(name) for name in sure], office.watch)
    for name, node in zip(sure, nodes, strict=True):
        topic = known.get(name)
        if topic is None or node is None or node.stat.version != topic.version:
            changed.append(name)
    if not changed:
        return
    loaded = await office.loader.topics(sorted(changed))
    office.doubtful.difference_update(changed)
    office.take_over(loaded.topics, gone=[*loaded.gone, *loaded.unreadable])
    office.with_cluster(unreadable=office.cluster.unreadable.difference(loaded.gone).union(loaded.unreadable))
    await office.settle([topic.name for topic in loaded.topics])
    if office.cluster.moving:
        await reassign(office)
    await delete_marked(office)


async def deletions(office: ControllerContext) -> None:
    """Topics that somebody marked."""
    marked = frozenset(await office.store.children(DeletionMarker.root, office.watch))
    unknown = [name for name in marked if name not in office.cluster.topics]
    if unknown:  # one may have been made and marked before its making was looked at
        await topics(office, unknown)
    office.with_cluster(marked=marked)
    await delete_marked(office)


async def reassignments(office: ControllerContext) -> None:
    """What somebody asked to be moved. Deletions may have waited for what moves no more."""
    await _read_reassignment(office)
    await reassign(office)
    await delete_marked(office)


async def _read_reassignment(office: ControllerContext) -> None:
    path = Reassignment.path()
    if await office.store.exists(path, office.watch) is None:
        office.reassignment = None
        office.with_cluster(pending={}, reassigning=False)
        return
    try:
        node = await office.store.get(path)
        read = Reassignment.decode(node.data, path)
    except NoNode:  # the watch has seen it go
        return
    except ZnodeError as error:
        office.report(error)
        office.reassignment = None
        office.with_cluster(pending={}, reassigning=True)
        return
    office.reassignment = read, node.stat.version
    pending = {}
    for (name, index), replicas in read.targets().items():
        topic = office.cluster.topics.get(name)
        partition = topic.partition(index) if topic is not None else None
        if topic is None or partition is None or topic.target(partition) != replicas:
            pending[name, index] = replicas
    office.with_cluster(pending=pending, reassigning=True)


async def isr_changes(office: ControllerContext) -> None:
    """Partitions whose state somebody else wrote."""
    names = await office.store.children(IsrChange.root, office.watch)
    paths = [f"{IsrChange.root}/{name}" for name in names]
    changed: set[str] = set()
    for path, node in zip(paths, await office.store.get_many(paths), strict=True):
        if node is None:
            continue
        try:
            changed.update(one.topic for one in IsrChange.decode(node.data, path).partitions)
        except ZnodeError as error:
            office.report(error)
    office.doubtful |= changed
    if changed:
        await topics(office, sorted(changed))
    await _remove(office, paths)


async def config_changes(office: ControllerContext) -> None:
    """Topics whose settings somebody else wrote."""
    changed = await _note_changes(office)
    office.doubtful |= changed
    known = [name for name in changed if name in office.cluster.topics]
    if known:
        await topics(office, sorted(known))
    oldest = (time.time() - office.settings.config_changes_kept) * 1000
    old = [path for path, made in office.known_notes.items() if made < oldest]
    await _remove(office, old)
    for path in old:
        del office.known_notes[path]


async def _note_changes(office: ControllerContext) -> set[str]:
    """The topics that notes not seen before tell of."""
    names = await office.store.children(ConfigChange.root, office.watch)
    paths = [f"{ConfigChange.root}/{name}" for name in names]
    new = [path for path in paths if path not in office.known_notes]
    changed = set()
    for path, node in zip(new, await office.store.get_many(new), strict=True):
        if node is None:
            continue
        office.known_notes[path] = node.stat.ctime
        try:
            note = ConfigChange.decode(node.data, path)
        except ZnodeError as error:
            office.report(error)
            continue
        if note.entity_type == "topics":
            changed.add(note.entity_name)
    for path in office.known_notes.keys() - set(paths):
        del office.known_notes[path]
    return changed


async def _remove(office: ControllerContext, paths: Sequence[str]) -> None:
    failed = await office.ends({path: office.writer.commit([Delete(path)]) for path in paths})
    for path, error in failed.items():
        if not (isinstance(error, Conflict) and isinstance(error.error, NoNode)):
            log.warning("%s could not be removed: %s", path, error)
