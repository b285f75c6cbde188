"""List brokers, show their API versions, and unregister dead brokers."""
