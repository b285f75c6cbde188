"""Commands of kwire-admin that are no verbs: one module for each."""
