"""Configs of topics, brokers, and groups: get, set, and delete them one by one."""

ALIASES = ("config",)
