"""Delegation tokens: list, create, renew, and expire them."""

ALIASES = ("delegation-tokens", "delegation-token")
