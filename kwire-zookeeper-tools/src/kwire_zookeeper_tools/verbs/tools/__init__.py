"""`kafka tools`."""
