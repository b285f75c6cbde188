"""Authorization in a cluster of nodes: principals and Kafka's access control lists."""
