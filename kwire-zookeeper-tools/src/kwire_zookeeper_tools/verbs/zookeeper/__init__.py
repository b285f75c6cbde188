"""Show what the controller has to do, as ZooKeeper has it (before Kafka 4.0)."""
