"""Client quotas of users, client ids, and IP addresses: get, set, and delete them."""

ALIASES = ("client-quotas", "client-quota")
