"""A node of the cluster: it serves the admin protocol and takes part in the controller election."""
