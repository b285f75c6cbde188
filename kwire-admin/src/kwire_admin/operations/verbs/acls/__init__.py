"""List, add, and delete ACLs, one by one or as a document."""
