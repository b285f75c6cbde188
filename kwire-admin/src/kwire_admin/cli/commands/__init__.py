"""Commands of kwire-admin besides verbs: one module for each."""
