"""Kafka's data in ZooKeeper: a class for every node, and ``Store``, through which they are read, watched and written.

``connect`` opens a store over a real ensemble (needs kazoo), ``Memory`` is an ensemble within the process, and
``kwire.zookeeper.embedded`` runs a real server. Sources: "Kafka data structures in Zookeeper", KIP-584, Kafka 3.9.
"""
