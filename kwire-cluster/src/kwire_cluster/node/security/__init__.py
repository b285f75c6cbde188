"""Access control lists, copied from ZooKeeper."""
