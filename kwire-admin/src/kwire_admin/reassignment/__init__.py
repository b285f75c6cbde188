"""Reassignments of partitions: snapshots of a cluster, plans, and their execution.

    ClusterSnapshot   brokers and partitions at one moment, from `snapshot_reader` or `capture_snapshot`
    PlanRequest       goals and constraints of a plan
    planning          snapshot, request -> Plan: new replicas, moves, and the distance to the optimum
    AssignmentFile    the JSON file of a plan, which Kafka's own script reads as well
    schedule          Plan -> bounded batches of moves
    simulator         batches, bandwidth -> time and peak load of each broker
    execution         runs a plan against a cluster, with throttles and a journal

Only `snapshot_reader`, `capture_snapshot`, and `execution` do I/O; everything else is pure functions and values.
"""

from __future__ import annotations

from kwire_admin.reassignment.assignment_file import AssignmentFile
from kwire_admin.reassignment.errors import (
    InfeasiblePlan,
    InvalidAssignment,
    InvalidJournal,
    InvalidPlanRequest,
    InvalidSnapshot,
    ReassignError,
)
from kwire_admin.reassignment.plan import Balance, BrokerLoad, Move, Plan, PlanRequest, Proof
from kwire_admin.reassignment.snapshot import BrokerSnapshot, ClusterSnapshot, PartitionSnapshot

__all__ = [
    "AssignmentFile",
    "Balance",
    "BrokerLoad",
    "BrokerSnapshot",
    "ClusterSnapshot",
    "InfeasiblePlan",
    "InvalidAssignment",
    "InvalidJournal",
    "InvalidPlanRequest",
    "InvalidSnapshot",
    "Move",
    "PartitionSnapshot",
    "Plan",
    "PlanRequest",
    "Proof",
    "ReassignError",
]
