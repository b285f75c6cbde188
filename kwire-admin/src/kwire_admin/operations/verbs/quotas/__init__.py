"""Get, set, and delete the quotas of users, client ids, and IP addresses."""

ALIASES = ("client-quotas", "client-quota")
