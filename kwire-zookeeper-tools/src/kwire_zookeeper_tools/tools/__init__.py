"""kwire's own tools, one file each."""
