"""Commands of kwire-pipeline: one module for each."""
