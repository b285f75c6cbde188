"""List users with SCRAM passwords, set their passwords, and delete them."""

ALIASES = ("scram-users", "scram-user")
