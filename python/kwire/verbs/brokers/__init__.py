"""Brokers: list them, with their racks and the space that is left."""
