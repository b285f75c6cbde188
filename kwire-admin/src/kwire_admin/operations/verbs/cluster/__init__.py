"""Describe a cluster and check its health, or run a cluster for tests on this machine."""
