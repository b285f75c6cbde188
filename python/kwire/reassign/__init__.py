"""Plan and follow reassignments of partitions: pure functions and values, without network, clock, or files.

    ClusterSnapshot   the brokers and partitions of a cluster at one moment
    PlanRequest       goals and constraints
    plan              snapshot, request -> Plan: the new replicas, what moves, and how close it is to the optimum
    batches           Plan -> bounded groups of moves
    simulate          batches, bandwidth -> time and peak load of each broker
    RunState          the folded events of a journal

`kwire.client.reassignment` reads snapshots from clusters and executes plans.
"""

from __future__ import annotations

from kwire.reassign.assignment_file import AssignmentFile
from kwire.reassign.errors import (
    InfeasiblePlan,
    InvalidAssignment,
    InvalidJournal,
    InvalidRequest,
    InvalidSnapshot,
    ReassignError,
)
from kwire.reassign.plan import BrokerLoad, Move, Plan, Proof
from kwire.reassign.request import Balance, PlanRequest
from kwire.reassign.snapshot import BrokerState, ClusterSnapshot, PartitionKey, PartitionState

__all__ = [
    "AssignmentFile",
    "Balance",
    "BrokerLoad",
    "BrokerState",
    "ClusterSnapshot",
    "InfeasiblePlan",
    "InvalidAssignment",
    "InvalidJournal",
    "InvalidRequest",
    "InvalidSnapshot",
    "Move",
    "PartitionKey",
    "PartitionState",
    "Plan",
    "PlanRequest",
    "Proof",
    "ReassignError",
]
