"""The parts of `make demo`."""
