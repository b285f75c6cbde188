"""Verbs: `topics/create.py` is `kafka topics create`. `kwire_admin.operations.registry` finds them by their files."""
