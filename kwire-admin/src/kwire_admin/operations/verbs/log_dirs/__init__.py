"""Show the used and free space of the log directories of brokers, and move replicas between them."""

ALIASES = ("logdirs", "log-dir", "logdir")
