"""Ingesting rows of bronze: tasks of executors, and the commit that their manifests describe."""
