"""List and describe transactions, and find and end hanging transactions (KIP-664)."""
