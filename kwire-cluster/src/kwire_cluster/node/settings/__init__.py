"""Settings, topic configs, and features: copied from ZooKeeper, and changed there."""
