"""Helpers that know nothing of Kafka: processes, locks and ready files, texts, secrets, and late imports."""
