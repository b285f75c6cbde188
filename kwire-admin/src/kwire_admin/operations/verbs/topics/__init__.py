"""List, describe, create, change, and delete topics."""
