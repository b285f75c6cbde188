"""Transactions (KIP-664): list and describe them."""
