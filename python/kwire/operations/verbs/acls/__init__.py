"""ACLs: list, add, and delete them."""
