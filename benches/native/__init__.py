"""kwire beside codecs in Java, Go and Rust that build their own objects: `python -m benches.native`.

Each codec is a small program that reads the same file, checks that it writes what it read, and then works when it is
told to, so that programs take turns as codecs do within one process.
"""
