"""List, describe, and delete consumer groups, show their lag, and reset their offsets."""

ALIASES = ("consumer-groups", "consumer-group")
