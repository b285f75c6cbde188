"""List the offsets of partitions, also at a time, and delete the records before an offset."""

ALIASES = ("offset",)
