"""Tools: list and run them, here or on the nodes of a KIP-4 cluster."""
