"""List, create, renew, and expire delegation tokens."""

ALIASES = ("delegation-tokens", "delegation-token")
