"""Brokers: list them, and unregister dead ones."""
