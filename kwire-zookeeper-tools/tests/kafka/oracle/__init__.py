"""Kafka's own tools of each release, against which kwire's scripts are compared."""
