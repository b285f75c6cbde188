"""Shared parts of the commands of the pipeline."""
