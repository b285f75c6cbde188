"""A KIP-4 cluster on ZooKeeper: Kafka's znodes, the controller, and the nodes."""
