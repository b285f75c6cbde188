"""Statements that only a shell has, one file for each."""
