"""The controller: the broker that keeps partition states, elects leaders, and reassigns replicas.

Decisions about a topic are pure functions of immutable values (`topic_state`, `cluster_state`). `controller` runs them
behind one event queue and writes the results, fenced by its controller epoch.
"""
