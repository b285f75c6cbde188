"""The cluster as a whole: describe it and check its health."""
