"""What the commands of all products share: the choice of a cluster, options, tables, and colors (extra `terminal`)."""
