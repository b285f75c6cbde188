"""Who may do what in a cluster of nodes: principals and Kafka's access control lists."""
