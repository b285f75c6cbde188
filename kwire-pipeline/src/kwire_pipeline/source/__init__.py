"""Captures and clusters as a source of rows of bronze, in the format of a capture."""
