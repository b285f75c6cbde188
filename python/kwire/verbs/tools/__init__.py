"""Tools on the nodes of a KIP-4 cluster: list and run them."""
