"""ACLs: list, add, delete, and apply them."""
