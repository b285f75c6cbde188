"""Transactions (KIP-664): list and describe them, and end hanging ones."""
