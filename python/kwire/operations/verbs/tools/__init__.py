"""Tools: list and run them, locally or on the nodes of a KIP-4 cluster."""
