"""Compare kwire with codecs in Java, Go, and Rust: `python -m benches.native`.

Each codec is a small program that reads the same file, checks a round trip, and then executes operations on command, so
that the programs take turns like codecs in one process.
"""
