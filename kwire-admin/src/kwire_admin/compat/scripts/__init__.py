"""The scripts, one module each."""
