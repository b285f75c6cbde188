"""Users with SCRAM credentials: list them, set their passwords, and delete them."""

ALIASES = ("scram-users", "scram-user")
