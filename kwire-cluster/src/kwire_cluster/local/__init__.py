"""A cluster on this machine: nodes and ZooKeeper as processes."""
