"""Planning of a reassignment: arrays and min-cost flows, without network, clock, or files.

    planner             snapshot, PlanRequest -> Plan, with a proof of the distance to the optimum
    placement           the snapshot as arrays of partitions, brokers, and racks
    count_planner       even replica counts: an exact min-cost flow
    size_planner        even bytes: moves by best fit, large replicas first, and a lower bound
    leader_planner      even leaders: a min-cost flow over the order of the replicas
    bounds              limits per rack and broker, target loads, and lower bounds

Needs the extra `reassign` (numpy and OR-Tools).
"""
