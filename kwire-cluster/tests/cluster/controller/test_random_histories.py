"""Random histories of requests and faults on a cluster in memory, compared with a model.

An acknowledged request changes the model. After a request without response, because the controller failed, the topic
must be either unchanged or as requested. `make soak` runs more examples than `make test`.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire_cluster.controller.errors import NotController
from kwire_cluster.zookeeper.admin_requests import PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.operations import SessionState
from kwire_cluster.zookeeper.topics import DeletionMarker
from tests.cluster.controller.clusters import assignment, cluster_of, creation, reassignment
from tests.cluster.memory_store import InjectedFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.controller.controller import Controller
    from kwire_cluster.zookeeper.operations import Operation
    from tests.cluster.controller.clusters import Cluster
    from tests.cluster.memory_store import MemoryStore

BROKERS = (1, 2, 3, 4)
NAMES = ("a", "b", "c")
EXAMPLES = int(os.environ.get("KWIRE_SOAK_EXAMPLES", "50"))

Assigned = dict[int, tuple[int, ...]]


class Step(NamedTuple):
    """A step of a steps_to_run. `fault` happens before write number `at` of the controller in this step."""

    kind: str
    topic: str
    replicas: tuple[tuple[int, ...], ...]
    broker: int
    fault: str
    at: int


replica_lists = st.lists(st.sampled_from(BROKERS), min_size=2, max_size=2, unique=True).map(tuple)
steps = st.builds(
    Step,
    st.sampled_from(["create", "add", "reassign", "delete", "elect", "kill", "start"]),
    st.sampled_from(NAMES),
    st.lists(replica_lists, min_size=1, max_size=3).map(tuple),
    st.sampled_from(BROKERS),
    st.sampled_from(["none", "none", "expire", "lose request", "lose response", "lose election"]),
    st.integers(0, 6),
)


class History:
    """A cluster and the model of its topics."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.model: dict[str, Assigned] = {}
        self.unknown: dict[str, list[Assigned | None]] = {}
        """The possible assignments of topics after requests without response."""

    async def run(self, step: Step) -> None:
        controller = await self.cluster.wait_elected()
        if step.kind == "kill":
            if len(self.cluster.brokers) > 2 and step.broker in self.cluster.brokers:
                await self.cluster.kill(step.broker)
            return
        if step.kind == "start":
            if step.broker not in self.cluster.brokers:
                await self.cluster.start(step.broker)
            return
        self._inject(controller, step)
        requested = self._requested(step)
        try:
            acknowledged = await self._send(controller, step)
        except NotController:
            self.unknown[step.topic] = [self.model.get(step.topic), requested]
        else:
            if acknowledged and step.kind != "elect":
                self._update_model(step.topic, requested)
        await self._recover()

    def _update_model(self, topic: str, assigned: Assigned | None) -> None:
        if assigned is None:
            self.model.pop(topic, None)
        else:
            self.model[topic] = assigned

    def _requested(self, step: Step) -> Assigned | None:
        listed = dict(enumerate(step.replicas))
        now = self.model.get(step.topic)
        if step.kind == "delete":
            return None
        if step.kind == "create":
            return listed if now is None else now
        if now is None:
            return None
        if step.kind == "add":
            return now | {len(now) + index: replicas for index, replicas in listed.items()}
        if step.kind == "reassign":
            return now | {index: replicas for index, replicas in listed.items() if index in now}
        return now

    async def _send(self, controller: Controller, step: Step) -> bool:
        now = self.model.get(step.topic, {})
        if step.kind == "create":
            outcomes = await controller.create_topics([creation(step.topic, *step.replicas)])
        elif step.kind == "add":
            added = assignment(*step.replicas, first=len(now))
            change = TopicAlteration(topic_name=step.topic, replica_assignment=added)
            outcomes = await controller.alter_topics([change])
        elif step.kind == "reassign":
            partitions = {f"p{index}": ids for index, ids in enumerate(step.replicas) if index in now}
            outcomes = await controller.reassign_partitions([reassignment(step.topic, **partitions)])
        elif step.kind == "delete":
            outcomes = await controller.delete_topics([step.topic])
        else:
            outcomes = await controller.elect_preferred_leaders([])
        return all(outcome.error is None for outcome in outcomes)

    def _inject(self, controller: Controller, step: Step) -> None:
        memory = self.cluster.memory
        store = self.cluster.brokers[controller.broker_id].store
        left = step.at

        def inject_fault(session: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            nonlocal left
            del operations
            if session is not store or step.fault == "none":
                return InjectedFault.NONE
            left -= 1
            if left != -1:
                return InjectedFault.NONE
            if step.fault == "expire":
                memory.expire(store.session_id)
            elif step.fault == "lose election":
                self.cluster.tool.delete("/controller")
            elif step.fault == "lose request":
                return InjectedFault.LOSE_REQUEST
            elif step.fault == "lose response":
                return InjectedFault.LOSE_RESPONSE
            return InjectedFault.NONE

        memory.inject_fault = inject_fault

    async def _recover(self) -> None:
        """Restart brokers that failed because of a fault, and wait until the controller is idle."""
        while True:
            await self.cluster.wait_idle()
            brokers = self.cluster.brokers.values()
            expired = [broker.id for broker in brokers if broker.store.state == SessionState.EXPIRED]
            if not expired:
                break
            for broker_id in expired:
                await self.cluster.kill(broker_id)
                await self.cluster.start(broker_id)
        self.cluster.memory.inject_fault = None

    async def check(self) -> None:
        """Start all brokers and compare the cluster with the model."""
        self.cluster.memory.inject_fault = None
        for broker_id in BROKERS:
            if broker_id not in self.cluster.brokers:
                await self.cluster.start(broker_id)
        await self._recover()
        await self.cluster.wait_idle()
        self.cluster.check_agreement()
        assert not self.cluster.exists(ReassignPartitions.path())
        assert not self.cluster.exists(PreferredReplicaElection.path())
        assert not self.cluster.memory.tree.get(DeletionMarker.root).children
        for name in NAMES:
            found = dict(self.cluster.registration(name).partitions) if name in self.cluster.topics() else None
            if name in self.unknown:
                assert found in self.unknown.pop(name)
                self._update_model(name, found)
            assert found == self.model.get(name), name
            for index, replicas in (found or {}).items():
                state = self.cluster.state(name, index)
                assert state.leader in replicas
                assert set(state.isr) == set(replicas)


@settings(max_examples=EXAMPLES, derandomize="KWIRE_SOAK_EXAMPLES" not in os.environ)
@given(st.lists(steps, min_size=1, max_size=10))
async def test_acknowledged_requests_survive_any_history(steps_to_run: list[Step]) -> None:
    async with asyncio.timeout(60), cluster_of(*BROKERS, controllers=BROKERS) as cluster:
        history = History(cluster)
        for step in steps_to_run:
            await history.run(step)
            if history.unknown:
                await history.check()
        await history.check()
