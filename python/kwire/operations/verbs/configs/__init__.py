"""Configs of topics, brokers, groups, and client metrics, one by one, and a whole cluster as a document."""

ALIASES = ("config",)
