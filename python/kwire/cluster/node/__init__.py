"""A node: the process that answers the admin protocol on a port, and now and then is the controller."""
