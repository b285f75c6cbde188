"""The health of a cluster: the answers of all its brokers (`sources`), and the problems that follow (`checks`)."""
