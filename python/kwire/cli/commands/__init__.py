"""The subcommands of `kwire`, one a module; each returns its exit code."""
