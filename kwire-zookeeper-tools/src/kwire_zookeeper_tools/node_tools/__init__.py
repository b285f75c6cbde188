"""Tools that only nodes run, in their event loop, one file each."""
