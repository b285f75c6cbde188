"""Scripts that find the cluster in ZooKeeper, with the options, lines, and exit codes of Kafka 0.8.2.2 to 0.10.2.2.

`ScriptRun.release` chooses among the lines of these releases. `tests/kafka/oracle` compares them with Kafka's own.
"""
