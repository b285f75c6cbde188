"""Nouns of kwire-zookeeper-tools: one package for each."""
