"""Get and set configs, one by one or for a whole cluster as a document."""

ALIASES = ("config",)
