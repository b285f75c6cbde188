"""Read clusters, and execute reassignments that `kwire.reassign` has planned."""

from __future__ import annotations

from kwire.client.reassignment.executor import ExecutionOptions, Executor, Measured
from kwire.client.reassignment.progress import MoveProgress, read_progress
from kwire.client.reassignment.run_folder import RunFolder, cluster_folder, newest_run, read_run
from kwire.client.reassignment.snapshot_reader import read_snapshot
from kwire.client.reassignment.throttles import Throttles, ThrottlesLeft

__all__ = [
    "ExecutionOptions",
    "Executor",
    "Measured",
    "MoveProgress",
    "RunFolder",
    "Throttles",
    "ThrottlesLeft",
    "cluster_folder",
    "newest_run",
    "read_progress",
    "read_run",
    "read_snapshot",
]
