"""A cluster on ZooKeeper that speaks the admin protocol of KIP-4: its data, its controller, and its nodes."""
