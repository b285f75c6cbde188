"""Brokers: list them, show their API versions, and unregister dead ones."""
