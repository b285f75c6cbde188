"""The ZooKeeper of a cluster before Kafka 4.0: show what its controller has to do."""
