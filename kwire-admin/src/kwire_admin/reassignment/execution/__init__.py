"""Execution of a planned reassignment, which survives the loss of the process at any moment.

    run_folder          the folder of a run: plan, rollback file, audit, lock, and the journal
    journal             events -> RunState, which `execute`, `resume`, `cancel`, and `status` share
    health              problems that forbid a start; under-replicated partitions and slow brokers that pause a run
    executor            batch by batch: throttle, alter, poll until in sync, next
    throttles           replication quotas (KIP-73) of the run, and the values that they replace
    moves_in_progress   the reassignments of one batch, and bytes copied and total bytes of each move

An event is on disk before the request that it announces, so a killed run can be resumed or canceled.
"""
