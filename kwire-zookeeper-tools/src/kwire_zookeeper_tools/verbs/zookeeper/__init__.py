"""`kafka zookeeper`."""
