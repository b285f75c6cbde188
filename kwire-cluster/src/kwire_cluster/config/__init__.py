"""The settings of nodes and topics: one registry, and the layers that a value comes from."""
