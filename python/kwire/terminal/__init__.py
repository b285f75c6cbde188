"""Shared parts of the commands of all products (extra `terminal`): choice of a cluster, options, tables, colors."""
