"""Commands of kwire-cluster: one module for each."""
