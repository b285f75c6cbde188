"""Show, raise, and lower the levels of the features of a cluster (KIP-584)."""
