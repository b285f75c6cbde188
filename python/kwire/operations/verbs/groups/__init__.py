"""Groups of consumers: list, describe, and delete them, show their lag, and reset their offsets."""

ALIASES = ("consumer-groups", "consumer-group")
