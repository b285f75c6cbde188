"""Topics: list, describe, create, change, and delete them."""
