"""Log directories of brokers: how much space topics take, and how much is left."""

ALIASES = ("logdirs", "log-dir", "logdir")
