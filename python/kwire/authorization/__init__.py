"""Authorization as Kafka does it: principals, entries of access control lists, and the decision about a request."""
