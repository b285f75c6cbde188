"""Random operations and faults on a cluster in memory, against a model that is plain dicts.

After every step that was acknowledged the model is changed; after every step that was not (the controller ended on the
way), each topic must be as before or as wanted. ``make soak`` runs many more examples than ``make test`` does.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.cluster.controller.errors import NotController
from kwire.cluster.zookeeper.admin_requests import PreferredReplicaElection, ReassignPartitions
from kwire.cluster.zookeeper.memory_store import InjectedFault
from kwire.cluster.zookeeper.topics import DeletionMarker
from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from tests.cluster.controller.clusters import assignment, cluster_of, creation, move, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.cluster.controller.controller import Controller
    from kwire.cluster.zookeeper.memory_store import MemoryStore
    from kwire.cluster.zookeeper.operations import Operation
    from tests.cluster.controller.clusters import Cluster

BROKERS = (1, 2, 3, 4)
NAMES = ("a", "b", "c")
EXAMPLES = int(os.environ.get("KWIRE_SOAK_EXAMPLES", "50"))

Assigned = dict[int, tuple[int, ...]]


class Step(NamedTuple):
    """``fault``: what happens to the controller just before its write number ``at`` of this step, if there is one."""

    kind: str
    topic: str
    replicas: tuple[tuple[int, ...], ...]
    broker: int
    fault: str
    at: int


replica_lists = st.lists(st.sampled_from(BROKERS), min_size=2, max_size=2, unique=True).map(tuple)
steps = st.builds(
    Step,
    st.sampled_from(["create", "grow", "move", "delete", "elect", "kill", "start"]),
    st.sampled_from(NAMES),
    st.lists(replica_lists, min_size=1, max_size=3).map(tuple),
    st.sampled_from(BROKERS),
    st.sampled_from(["none", "none", "die", "lose request", "lose answer", "lose office"]),
    st.integers(0, 6),
)


class History:
    """A cluster, and what must be true of it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.model: dict[str, Assigned] = {}
        self.doubtful: dict[str, list[Assigned | None]] = {}
        """What a topic may be as well, since nobody knows whether a change of it took place."""

    async def take(self, step: Step) -> None:
        controller = await self.cluster.elected()
        if step.kind == "kill":
            if len(self.cluster.brokers) > 2 and step.broker in self.cluster.brokers:
                await self.cluster.kill(step.broker)
            return
        if step.kind == "start":
            if step.broker not in self.cluster.brokers:
                await self.cluster.start(step.broker)
            return
        self._arm(controller, step)
        wanted = self._wanted(step)
        try:
            acknowledged = await self._ask(controller, step)
        except NotController:
            self.doubtful[step.topic] = [self.model.get(step.topic), wanted]
        else:
            if acknowledged and step.kind != "elect":
                self._set(step.topic, wanted)
        await self._recover()

    def _set(self, topic: str, wanted: Assigned | None) -> None:
        if wanted is None:
            self.model.pop(topic, None)
        else:
            self.model[topic] = wanted

    def _wanted(self, step: Step) -> Assigned | None:
        listed = dict(enumerate(step.replicas))
        now = self.model.get(step.topic)
        if step.kind == "delete":
            return None
        if step.kind == "create":
            return listed if now is None else now
        if now is None:
            return None
        if step.kind == "grow":
            return now | {len(now) + index: replicas for index, replicas in listed.items()}
        if step.kind == "move":
            return now | {index: replicas for index, replicas in listed.items() if index in now}
        return now

    async def _ask(self, controller: Controller, step: Step) -> bool:
        now = self.model.get(step.topic, {})
        if step.kind == "create":
            outcomes = await controller.create_topics([creation(step.topic, *step.replicas)])
        elif step.kind == "grow":
            added = assignment(*step.replicas, first=len(now))
            change = TopicAlteration(topic_name=step.topic, replica_assignment=added)
            outcomes = await controller.alter_topics([change])
        elif step.kind == "move":
            partitions = {f"p{index}": ids for index, ids in enumerate(step.replicas) if index in now}
            outcomes = await controller.reassign_partitions([move(step.topic, **partitions)])
        elif step.kind == "delete":
            outcomes = await controller.delete_topics([step.topic])
        else:
            outcomes = await controller.elect_preferred_leaders([])
        return all(outcome.error is None for outcome in outcomes)

    def _arm(self, controller: Controller, step: Step) -> None:
        memory = self.cluster.memory
        store = self.cluster.brokers[controller.broker_id].store
        left = step.at

        def interrupt(session: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            nonlocal left
            del operations
            if session is not store or step.fault == "none":
                return InjectedFault.NONE
            left -= 1
            if left != -1:
                return InjectedFault.NONE
            if step.fault == "die":
                memory.expire(store.session_id)
            elif step.fault == "lose office":
                self.cluster.tool.delete("/controller")
            elif step.fault == "lose request":
                return InjectedFault.LOSE_REQUEST
            elif step.fault == "lose answer":
                return InjectedFault.LOSE_RESPONSE
            return InjectedFault.NONE

        memory.inject_fault = interrupt

    async def _recover(self) -> None:
        """Until what was begun is done as far as it can be; brokers that died of a fault are back."""
        for _ in range(3):
            await asyncio.sleep(0.002)
            for broker in list(self.cluster.brokers.values()):
                if broker.store.state == "expired":
                    await self.cluster.kill(broker.id)
                    await self.cluster.start(broker.id)
            await self.cluster.calm()
        self.cluster.memory.inject_fault = None

    async def check(self) -> None:
        """With all brokers alive everything comes to rest, and is as it was acknowledged."""
        self.cluster.memory.inject_fault = None
        for broker_id in BROKERS:
            if broker_id not in self.cluster.brokers:
                await self.cluster.start(broker_id)
        await self._recover()
        await self.cluster.calm()
        self.cluster.check_agreement()
        assert not self.cluster.exists(ReassignPartitions.path())
        assert not self.cluster.exists(PreferredReplicaElection.path())
        assert not self.cluster.memory.tree.get(DeletionMarker.root).children
        for name in NAMES:
            found = dict(self.cluster.registration(name).partitions) if name in self.cluster.topics() else None
            if name in self.doubtful:
                assert found in self.doubtful.pop(name)
                self._set(name, found)
            assert found == self.model.get(name), name
            for index, replicas in (found or {}).items():
                state = self.cluster.state(name, index)
                assert state.leader in replicas
                assert set(state.isr) == set(replicas)


@settings(max_examples=EXAMPLES, derandomize="KWIRE_SOAK_EXAMPLES" not in os.environ)
@given(st.lists(steps, min_size=1, max_size=10))
def test_whatever_happens_what_was_acknowledged_is_there(history: list[Step]) -> None:
    async def work() -> None:
        async with cluster_of(*BROKERS, controllers=BROKERS) as cluster:
            story = History(cluster)
            for step in history:
                await story.take(step)
                if story.doubtful:
                    await story.check()
            await story.check()

    run(work())
