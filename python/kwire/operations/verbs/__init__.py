"""Verbs: `topics/create.py` is `kafka topics create`. `kwire.operations.registry` finds them by their files."""
