"""One command a module; each returns its exit code."""
