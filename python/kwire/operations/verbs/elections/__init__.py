"""Elections of partition leaders."""

ALIASES = ("election",)
