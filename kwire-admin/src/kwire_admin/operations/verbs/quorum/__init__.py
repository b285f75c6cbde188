"""Show the KRaft quorum, and add and remove its voters."""
