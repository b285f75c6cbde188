"""Benchmarks of kwire and of other codecs.

`benches.workloads` generates the messages, `benches.peers` has a module for each codec, `benches.run` measures them in
turns. `benches.native` measures codecs in other languages, and `benches.instructions` counts the instructions of the
engine.

The package imports nothing from here. It encodes the messages, and the peers that know Kafka's format decode and encode
them to the same bytes before they are measured.
"""
