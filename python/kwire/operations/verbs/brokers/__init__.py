"""Brokers: list them, and unregister those that are gone."""
