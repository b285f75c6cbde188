"""Commands of kwire-zookeeper-tools: one module for each."""
