"""Transactions (KIP-664): list and describe them, and end those that hang."""
