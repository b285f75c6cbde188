"""Features of the cluster (KIP-584): the levels that brokers support, and the level of the cluster."""
